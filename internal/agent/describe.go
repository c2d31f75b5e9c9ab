package agent

import "termio/internal/api"

// The description of the manifest: the one source of what Parse checks and of what
// Schema publishes. A test holds it against the Go types.

// A shape describes one JSON value.
type shape struct {
	kind  nodeKind
	doc   string
	keys  []key    // of an object
	elem  *shape   // of a list; of an object with free keys
	words []string // allowed texts; empty: any
	check func(string) string
	// regexp says that the text is a regular expression.
	regexp bool
	// also checks what ties several keys together.
	also func(n *node, say func(at *node, path, reason string))
	// extra goes into the JSON Schema: the same ties as also, in its language.
	extra    map[string]any
	min, max int64 // of a number; both 0: any whole number from 0
}

// A key is one member of an object.
type key struct {
	name     string
	shape    *shape
	required bool
}

func req(name string, s *shape) key { return key{name, s, true} }
func opt(name string, s *shape) key { return key{name, s, false} }

func plain(doc string) *shape { return &shape{kind: isText, doc: doc} }
func yesNo(doc string) *shape { return &shape{kind: isFlag, doc: doc} }
func whole(doc string) *shape {
	return &shape{kind: isNumber, doc: doc}
}

func checked(doc string, check func(string) string) *shape {
	return &shape{kind: isText, doc: doc, check: check}
}

func oneOf(doc string, words ...string) *shape {
	return &shape{kind: isText, doc: doc, words: words}
}

func pattern(doc string) *shape {
	return &shape{kind: isText, doc: doc, regexp: true}
}

func listOf(doc string, elem *shape) *shape {
	return &shape{kind: isList, doc: doc, elem: elem}
}
func patterns(doc string) *shape { return listOf(doc, pattern("")) }
func table(doc string, elem *shape) *shape {
	return &shape{kind: isObject, doc: doc, elem: elem}
}

func objectOf(doc string, keys ...key) *shape {
	return &shape{kind: isObject, doc: doc, keys: keys}
}

func state(doc string) *shape {
	return oneOf(doc, api.Working.State(), api.NeedsYou.State(), api.Done.State(), api.Idle.State())
}

func dialogKind() *shape {
	return oneOf("What the dialog asks for. A question takes text; the others are only answered on purpose.",
		string(api.DialogPermission), string(api.DialogQuestion), string(api.DialogTrust), string(api.DialogLogin), string(api.DialogLimit))
}

// manifestShape describes a whole manifest.
func manifestShape() *shape {
	rules := func(doc string) *shape {
		return objectOf(doc,
			opt("working", patterns("Any of these found: working.")),
			opt("attention", patterns("Any of these found: attention. Tried first.")))
	}
	s := objectOf("One agent of termio: how it is started, how it tells its state, how its conversations are resumed. "+
		"Regular expressions are RE2, case-insensitive, searched anywhere. Keys that begin with $ or // are comments.",
		req("id", checked("Stable name; sessions keep it. Letters, digits, '-', '_', '.'.", checkID)),
		req("name", checked("Display name.", checkLine)),
		opt("aliases", listOf("Other words by which the agent is found.", checked("", checkLine))),
		opt("order", &shape{kind: isNumber, doc: "Place in pickers, ascending; without one the agent comes last.", min: -1_000_000, max: defaultOrder}),
		opt("explicit", yesNo("Only started when named, never as the default agent.")),
		opt("wire", checked("Short token for lists and small screens; the id by default.", checkID)),
		opt("command", checked("Command line, its first word searched on the login shell's PATH. Words are split at blanks; quotes keep them together; no shell sees it.", checkCommand)),
		opt("permissionBypassFlag", checked("Flag that makes the agent ask for no permission; added when the person's switch is on.", checkWords)),
		opt("icon", objectOf("The agent's mark: one of vector, path and symbol.",
			opt("vector", plain("Name of a mark that interfaces know.")),
			opt("path", plain("PNG or SVG file: relative to the manifest, absolute, or beginning with ~.")),
			opt("symbol", plain("One glyph.")),
			opt("tint", checked("Colour, #rrggbb.", checkTint)))),
		opt("install", plain("Where to get the agent; shown when its command is not found.")),
		opt("unverified", checked("Why the manifest has not been tried on the real program, and where what it says is from; shown in lists.", checkLine)),
		opt("env", objectOf("The agent's environment.",
			opt("set", table("Variables to set.", plain(""))),
			opt("remove", listOf("Variables to remove; a * at the end takes all that begin so.", checked("", checkVariable))))),
		opt("config", objectOf("Where the agent keeps its files, and the variable that moves them. Paths of the manifest that lie there move along.",
			req("dir", checked("The folder without the variable, such as ~/.claude.", checkPath)),
			req("env", checked("The variable.", checkVariable)))),
		opt("prompt", objectOf("How a first prompt can be passed at launch. Without this it is typed once the agent is ready.",
			req("arg", checked("Template of words with {prompt}, put last.", checkTemplate("{prompt}"))),
			opt("maxBytes", &shape{kind: isNumber, doc: "Longer prompts are typed.", min: 1, max: 131_000}))),
		opt("ready", objectOf("What shows that the agent takes input. Any one sign is enough, as long as no dialog is on the screen and, where the manifest describes the composer, that is.",
			opt("program", state("State that OSC 7501 says.")),
			opt("file", state("State that the status file says.")),
			opt("hook", plain("Name of a hook event.")),
			opt("title", patterns("On the live title.")),
			opt("screen", patterns("On a row of the screen.")),
			opt("composer", yesNo("The composer is on the screen and empty.")),
			opt("settle", whole("How long the sign must have held, milliseconds.")))),
		opt("input", objectOf("Measured habits of the agent at its terminal, in milliseconds.",
			opt("submit", whole("After a paste, before Return.")),
			opt("dialogDeaf", whole("A new dialog ignores keys for so long.")),
			opt("retry", whole("A Return without effect is repeated after so long.")),
			opt("busy", oneOf("What becomes of text sent in a turn: the agent makes it a turn of its own (queue), takes it into the running one (merge), or would run several as one and gets each when it is at rest (hold).", BusyQueue, BusyMerge, BusyHold)))),
		opt("composer", composerShape()),
		opt("titleStatus", rules("States that the live title (OSC 0 and 2) shows. No match is no evidence; it only ends what the title itself had said.")),
		opt("status", rules("States that the screen shows, for agents without hooks: attention, then working, else idle. Ignored beside hooks.")),
		opt("dialogs", listOf("Dialogs, recognised by the structure of the screen: place, live cursor, option lines.", dialogShape())),
		opt("progressStatus", yesNo("OSC 9;4 progress counts as a channel.")),
		opt("programStatus", yesNo("OSC 7501 (Program Status Protocol) counts as a channel, and its query is echoed.")),
		opt("statusFile", statusFileShape()),
		opt("limits", listOf("Usage limits and expired logins, recognised in errors that hooks or OSC 7501 report; prose is never searched.", objectOf("",
			req("kind", oneOf("", string(api.DialogLimit), string(api.DialogLogin))),
			req("match", pattern("On the error's text."))))),
		opt("hooks", hooksShape()),
		opt("transcript", transcriptShape()),
		opt("resume", resumeShape()),
		opt("skills", objectOf("The agent's skills.", req("dir", checked("Folder that gets one folder for each skill.", checkPath)))),
	)
	s.also = func(n *node, say func(*node, string, string)) {
		if n.get("command") == nil && n.get("id").text() != terminalID {
			say(n, "command", "is missing; only the built-in terminal has none")
		}
		if n.get("statusFile") == nil && n.path("ready.file") != nil {
			say(n.path("ready.file"), "ready.file", "needs a statusFile")
		}
		if n.get("composer") == nil && n.path("ready.composer") != nil {
			say(n.path("ready.composer"), "ready.composer", "needs a composer")
		}
	}
	s.extra = map[string]any{"anyOf": []any{
		map[string]any{"required": []string{"command"}},
		map[string]any{"properties": map[string]any{"id": map[string]any{"const": terminalID}}},
	}}
	return s
}

func composerShape() *shape {
	return objectOf("How to recognise the line that takes the person's text, and a draft in it. It is looked for near the bottom.",
		req("prompt", pattern("First row of the composer; the group draft holds what is typed: `^> (?P<draft>.*)$`.")),
		opt("more", pattern("Further rows of a draft, with the group draft.")),
		opt("above", pattern("The row right above.")),
		opt("below", pattern("The row right below.")),
		opt("empty", patterns("Drafts that are none: placeholders that are not dim.")),
		opt("within", whole("How many rows from the last one that is not blank the composer may begin; 12 by default.")),
		opt("cursor", yesNo("The terminal's cursor shows, and is on a row of the composer.")),
		opt("working", patterns("At least one is found on a row near the composer while a turn runs, and none after it. With hooks it only tells of what they do not: an interruption, a refusal, a queued prompt's turn; without any it is the status.")))
}

func dialogShape() *shape {
	s := objectOf("",
		req("name", checked("For explanations.", checkLine)),
		req("kind", dialogKind()),
		opt("top", pattern("The row that the dialog begins with, such as a rule across the screen.")),
		opt("title", patterns("At least one is found on a row above the options.")),
		opt("question", patterns("The row that asks; without a match the paragraph above the options.")),
		opt("ask", checked("The question, where the screen has none in one place.", checkLine)),
		opt("option", pattern("A row with an option: the groups mark, number, box and label. The default knows the usual forms.")),
		opt("footer", patterns("At least one is found on a row beneath the options, near the bottom.")),
		opt("within", whole("How many rows from the last one that is not blank the footer may lie; 3 by default.")),
		opt("body", pattern("The rows around what the dialog is about; between them stands the detail.")),
		opt("ignore", patterns("Rows that are no detail.")),
		opt("wrap", yesNo("Rows below an option that are indented like its label go on with it.")),
		opt("bare", yesNo("There are no options to read: title and footer are enough, and with cursor the mark.")),
		opt("cursor", yesNo("The terminal's cursor, hidden or not, is on the row of the mark.")),
		opt("answer", oneOf("How an option is chosen: by its number, or by moving the mark to it and Return.", answerNumber, answerMove)),
		opt("beside", pattern("The label of an option, where they stand side by side in the footer's row.")),
		opt("coloured", yesNo("The live mark is a colour that no other option has; of three or more it is recognised.")),
		opt("next", checked("Key that leaves a dialog in which several options can be ticked, as `send --key` spells it.", checkLine)),
		opt("text", pattern("The option that a text of the person's own goes to, once the mark is on it; without this the dialog takes text wherever the mark is.")))
	s.also = func(n *node, say func(*node, string, string)) {
		if n.get("bare").text() == "true" && (n.get("title") == nil || n.get("footer") == nil) {
			say(n, "bare", "needs title and footer: there is nothing else to go by")
		}
	}
	return s
}

func statusFileShape() *shape {
	return objectOf("A live status file that the agent keeps for its process.",
		req("path", checked("With {pid}.", checkWith("{pid}"))),
		req("state", plain("Key path of the state's word.")),
		req("values", table("The state of each word; none is no evidence.", oneOf("", api.Working.State(), api.NeedsYou.State(), api.Done.State(), api.Idle.State(), "none"))),
		opt("reason", plain("Key path of what is waited for.")),
		opt("conversation", plain("Key path of the conversation's id.")),
		opt("pid", plain("Key path of the process.")),
		opt("started", plain("Key path of the process's start as the system counts it; a file of an older process is stale.")),
		opt("updated", plain("Key path of the time of the state, unix milliseconds.")))
}

func hooksShape() *shape {
	event := objectOf("",
		req("on", checked("The event, as the agent names it.", checkLine)),
		req("state", state("What it says.")),
		opt("matcher", plain("Installed with the hook, in the agent's own syntax.")),
		opt("field", plain("Field of the payload that the matcher is checked against again on arrival.")),
		opt("prompt", yesNo("The event says that a prompt was taken. Without this, events whose name holds \"prompt\" and that say working do.")),
		opt("error", yesNo("The event says that the turn failed.")))
	s := objectOf("The agent's own hooks. Where there are any they are the source of truth; other channels only correct them.",
		opt("type", oneOf("How they are installed; json by default. Those of an agent that reports by itself are builtin, and nothing is installed.", "json", "toml", "plugin", "scripts", HooksBuiltin)),
		opt("file", checked("Of json and toml: the file that is edited.", checkPath)),
		opt("dir", checked("Of plugin and scripts: the folder that gets a file.", checkPath)),
		opt("dialect", plain("The form that the agent wants.")),
		opt("timeout", whole("Seconds, given to the agent for each hook.")),
		opt("async", yesNo("Ask the agent not to wait for hooks.")),
		opt("doneSettle", whole("Milliseconds that a done must stand, for agents that say done at every step of a turn.")),
		opt("conversation", plain("Field with the conversation's id: of the JSON on standard input, or for plugins a key path into the event.")),
		opt("capturesTranscript", yesNo("The payload has transcript_path.")),
		opt("tool", plain("Field with the running tool's name.")),
		opt("promptTitle", plain("Field with the prompt, used as a title.")),
		opt("subagent", plain("Field that only events of a subagent carry: they change nothing.")),
		opt("message", plain("Field with a text for people.")),
		opt("error", plain("Field with the error of a failed turn.")),
		opt("background", objectOf("Work that goes on after the turn: the elements of a list in the payload.",
			req("list", plain("Key path of the list.")),
			opt("where", table("Field of an element → what it must match to count.", pattern(""))))),
		opt("machinePrompt", patterns("Prompts that no person wrote.")),
		opt("dialogs", listOf("Questions and options in the payload of events that say attention; the first that fits is used.", objectOf("",
			opt("tool", pattern("On the tool's name.")),
			req("kind", dialogKind()),
			req("question", plain("Template with key paths in braces.")),
			opt("detail", listOf("Key paths; the first that is there is shown.", plain(""))),
			opt("options", plain("Key path of the list of options.")),
			opt("label", plain("Key of the label in an option; without it an option is the text itself."))))),
		req("events", listOf("", event)),
	)
	s.also = checkHooks
	return s
}

func transcriptShape() *shape {
	return objectOf("How the transcript tells of turns: JSON lines.",
		opt("time", plain("Key path of a line's time.")),
		opt("skip", table("Key path → pattern: lines that are nobody's turn, such as a subagent's.", pattern(""))),
		req("rules", listOf("The first that fits a line counts.", objectOf("",
			req("name", checked("For explanations.", checkLine)),
			req("state", state("What the line says.")),
			opt("prompt", yesNo("The line is a prompt that was taken.")),
			opt("error", plain("Key path of the error that ended the turn.")),
			req("where", table("Key path → pattern; all must match. A path goes through lists.", pattern("")))))))
}

func resumeShape() *shape {
	s := objectOf("How a conversation is begun and gone on with: exactly, or not at all.",
		opt("create", checked("Template of words with {id}, for the first launch: we choose the id.", checkTemplate("{id}"))),
		opt("resume", checked("Template of words with {id}, for later launches.", checkTemplate("{id}"))),
		opt("storeRoot", checked("Folder in which the agent keeps its conversations.", checkPath)),
		opt("storeMatch", checked("dir:PATTERN or file:PATTERN below storeRoot or one of its folders; the pattern has {id}, and may have * and /.", checkStoreMatch)),
		opt("transcript", plain("Of dir: the transcript inside the folder.")),
		opt("discover", objectOf("How to find the conversation that the agent began by itself.",
			req("root", checked("Folder, searched through; of sqlite the database. A relative path is one in the conversation's own folder.", checkRoot)),
			req("format", oneOf("jsonl: the first line of a file, which is the transcript; json: a metadata file; sqlite: a row of table.", formatJSONL, formatJSON, formatSQLite)),
			req("id", plain("Key path or column of the id.")),
			opt("cwd", plain("Key path or column of the folder; needed unless root is relative.")),
			opt("table", plain("Of sqlite.")),
			opt("created", plain("Key path or column of the time at which the conversation was begun. Without it the file's own time has to do.")),
			opt("updated", plain("Key path or column of the time at which something was last said. Without it the file's own time has to do.")),
			opt("title", plain("Key path or column of the title.")),
			opt("held", yesNo("The agent's process has the record open while it runs: where the system tells, that decides whose it is.")),
			opt("parent", plain("Key path or column that only a subagent's record has.")))),
		opt("history", historyShape()),
	)
	s.also = checkResume
	s.extra = map[string]any{
		"not":               map[string]any{"required": []string{"create", "discover"}},
		"dependentRequired": map[string]any{"storeRoot": []string{"storeMatch"}, "storeMatch": []string{"storeRoot"}, "create": []string{"resume"}},
	}
	return s
}

func historyShape() *shape {
	line := func(doc string) *shape {
		return listOf(doc, objectOf("",
			opt("where", table("Key path → pattern; all must match. A path goes through lists.", pattern(""))),
			req("text", plain("Key path of the text."))))
	}
	return objectOf("What a record tells of its conversation, for lists of past ones. Records are JSON lines, or a .json file.",
		opt("root", checked("Folder of records whose names do not hold the whole id, in place of storeRoot.", checkPath)),
		opt("match", checked("And file:PATTERN of those records below it, with * and /.", checkRecordMatch)),
		opt("id", plain("Key path of the id, where the name does not tell it.")),
		opt("file", checked("Of dir: the file inside the folder that is read; {id} stands for the id. The transcript by default.", checkInside)),
		opt("folder", plain("Key path of the folder in which the conversation was begun; the first line that has it counts. Of discover, cwd by default.")),
		opt("folderFile", plain("A file that holds that folder, relative to the record's.")),
		opt("names", pattern("What of a folder's path is - in the names of the store's own folders. Where it stands, only the project's are looked through.")),
		opt("skip", table("Key path → pattern: lines that do not count, as those of subagents. Those of transcript.skip by default.", pattern(""))),
		opt("title", line("The title: the last line that fits.")),
		opt("prompt", line("The first prompt: the first line that fits.")))
}
