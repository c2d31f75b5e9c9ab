package agent

import (
	"fmt"
	"slices"
	"strings"
)

// dialectEvents are the events that each form of hooks is known to have, in all versions
// that were measured or described together: Claude Code 2.1.332, Codex 0.171.0, Copilot
// 1.0.102, Gemini 0.61.0 and Cline 3.0.65 as run, Cursor, Droid, Grok and Kimi from their
// manuals. Qwen Code has those of Claude's form. A plugin may name any event of its host.
var dialectEvents = map[string]string{
	"claude": claudeEvents,
	"qwen":   claudeEvents,
	"codex": "SessionStart SessionEnd UserPromptSubmit PreToolUse PermissionRequest PostToolUse Stop Interrupt SubagentStart " +
		"SubagentStop PreCompact PostCompact",
	"copilot": "sessionStart sessionEnd userPromptSubmitted userPromptTransformed preToolUse preMcpToolCall postToolUse " +
		"postToolUseFailure errorOccurred agentStop subagentStart subagentStop preCompact permissionRequest notification",
	"gemini": "SessionStart SessionEnd BeforeAgent AfterAgent BeforeModel AfterModel BeforeToolSelection BeforeTool AfterTool " +
		"Notification PreCompress",
	"cline": "TaskStart TaskResume TaskCancel TaskComplete TaskError UserPromptSubmit PreToolUse PostToolUse PreCompact SessionShutdown",
	"cursor": "sessionStart sessionEnd beforeSubmitPrompt preToolUse postToolUse postToolUseFailure beforeShellExecution " +
		"afterShellExecution beforeMCPExecution afterMCPExecution beforeReadFile afterFileEdit afterAgentResponse " +
		"afterAgentThought subagentStart subagentStop preCompact stop",
	"droid": "PreToolUse PostToolUse UserPromptSubmit Notification Stop SubagentStop PreCompact SessionStart SessionEnd PermissionRequest",
	"grok": "SessionStart SessionEnd UserPromptSubmit PreToolUse PostToolUse PostToolUseFailure PermissionDenied Stop StopFailure " +
		"StopCancelled Notification SubagentStart SubagentStop PreCompact PostCompact",
	"kimi": "UserPromptSubmit UserPromptQueued TurnStarted PreToolUse PermissionRequest PermissionResult PostToolUse " +
		"PostToolUseFailure Stop StopFailure Interrupt SessionStart SessionEnd SessionHeartbeat SubagentStart SubagentStop " +
		"TaskStarted TaskCompleted Notification PreCompact PostCompact",
}

const claudeEvents = "PreToolUse PostToolUse PostToolUseFailure PostToolBatch Notification UserPromptSubmit UserPromptExpansion " +
	"SessionStart SessionEnd Stop StopFailure SubagentStart SubagentStop PreCompact PostCompact PreModelSwitch PostModelSwitch " +
	"PermissionRequest PermissionDenied Setup TeammateIdle TaskCreated TaskCompleted Elicitation ElicitationResult ConfigChange " +
	"WorktreeCreate WorktreeRemove InstructionsLoaded CwdChanged FileChanged DirectoryAdded MessageDisplay PreSkillShellCommand"

// events warns of events that the manifest's form of hooks is not known to have. A newer
// version of the agent may have more, so that it is no error.
func (c *checker) events(root *node) {
	dialect := root.path("hooks.dialect").text()
	if dialect == "" && root.path("hooks.type").text() != "" {
		return
	}
	known := strings.Fields(dialectEvents[dialect])
	if len(known) == 0 {
		return
	}
	for i, e := range root.path("hooks.events").elements() {
		on := e.get("on")
		name := on.text()
		if name == "" || slices.Contains(known, name) {
			continue
		}
		next := "known are " + strings.Join(known, ", ")
		if j := slices.IndexFunc(known, func(k string) bool { return near(name, k) }); j >= 0 {
			next = fmt.Sprintf("is %q meant?", known[j])
		}
		c.warn(on, fmt.Sprintf("hooks.events[%d].on", i),
			fmt.Sprintf("%q is no event that hooks of dialect %s are known to have: such a hook is never called, and some versions then refuse the whole file; %s", name, dialect, next))
	}
}
