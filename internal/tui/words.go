package tui

import (
	"fmt"
	"strings"
	"time"
)

// Words are all texts that the interface says, in one language. A part adds its own
// as a field; a test holds that each language has every one.
type words struct {
	// Places of the sidebar.
	terminals, chats, projects string
	nothingYet                 string // the sidebar before the first session

	// Statuses.
	working, done, needsYou, idle, closed string

	// The header and the last row.
	needCount    func(n int) string
	workCount    func(n int) string
	doneCount    func(n int) string
	daemonGone   string
	linkDown     string
	keysGoTo     string // before the name of the session that gets the keys
	more         string // a hint that there are more keys
	sizeOfOther  func(cols, rows int) string
	scrolledBack func(lines int) string
	ended        string // a session's terminal that has ended

	// The question of a session.
	asks, gone, tooSoon, answerHint string

	// Things to do: what a key, the palette and the help say.
	actNew, actTerminal, actClose, actRename, actResume, actNextAsk, actQuit, actHelp      string
	actSidebar, actPane, actUp, actDown, actFold, actHide, actCommand, actScroll, actCopy  string
	actExplain, actSendKey, actNextSession, actPrevSession, actRedraw, actSeenAll, actPin  string
	confirmClose                                                                           func(title string) string
	renamePrompt, commandPrompt, newPrompt, yes, no, press, unknown, helpTitle, helpPrefix string
	nothingSelected, noneAsks                                                              string

	inbox   inboxWords
	start   startWords
	palette paletteWords

	age func(time.Duration) string
}

// wordsOf gives the catalogue of a language: a locale such as zh_CN.UTF-8, or "".
func wordsOf(locale string) *words {
	if strings.HasPrefix(strings.ToLower(locale), "zh") {
		return chinese()
	}
	return english()
}

func english() *words {
	return &words{
		terminals: "Terminals", chats: "Chats", projects: "Projects",
		nothingYet: "Nothing runs yet.",
		working:    "working", done: "done", needsYou: "needs you", idle: "idle", closed: "closed",
		needCount:  func(n int) string { return fmt.Sprintf("%d need%s you", n, map[bool]string{true: "s"}[n == 1]) },
		workCount:  func(n int) string { return fmt.Sprintf("%d working", n) },
		doneCount:  func(n int) string { return fmt.Sprintf("%d done", n) },
		daemonGone: "the daemon is gone; looking for it", linkDown: "link down; keys are kept",
		keysGoTo: "keys go to", more: "more",
		sizeOfOther:  func(c, r int) string { return fmt.Sprintf("%d×%d, another terminal's size; type to have yours", c, r) },
		scrolledBack: func(n int) string { return fmt.Sprintf("%d lines back; Esc returns", n) },
		ended:        "This session has ended.",
		asks:         "asks", gone: "answered already; nothing was typed", tooSoon: "the question has only just come; look, then answer",
		answerHint: "a number answers",
		actNew:     "New agent", actTerminal: "New terminal", actClose: "Close session", actRename: "Rename session",
		actResume: "Resume closed session", actNextAsk: "Next that needs you", actQuit: "Quit; sessions go on", actHelp: "Keys",
		actSidebar: "To the list", actPane: "To the terminal", actUp: "Up", actDown: "Down", actFold: "Fold",
		actHide: "Show or hide the list", actCommand: "Command", actScroll: "Scroll back", actCopy: "Copy",
		actExplain: "Explain status", actSendKey: "Send the prefix key itself", actNextSession: "Next session", actPrevSession: "Previous session",
		actRedraw: "Draw anew", actSeenAll: "Mark all as seen", actPin: "Pin",
		confirmClose: func(t string) string { return fmt.Sprintf("Close %q? What runs in it is ended.", t) },
		renamePrompt: "Title", commandPrompt: ":", newPrompt: "Prompt for", yes: "yes", no: "no", press: "press", unknown: "no such key here",
		helpTitle: "Keys", helpPrefix: "after the prefix key, or alone in the list",
		inbox: englishInbox(), start: englishStart(), palette: englishPalette(),

		nothingSelected: "no session is selected", noneAsks: "nobody needs you",
		age: func(d time.Duration) string {
			switch {
			case d < time.Minute:
				return "now"
			case d < time.Hour:
				return fmt.Sprintf("%dm", int(d.Minutes()))
			case d < 48*time.Hour:
				return fmt.Sprintf("%dh", int(d.Hours()))
			}
			return fmt.Sprintf("%dd", int(d.Hours()/24))
		},
	}
}

func chinese() *words {
	return &words{
		terminals: "终端", chats: "对话", projects: "项目",
		nothingYet: "还没有会话。",
		working:    "工作中", done: "完成", needsYou: "等你", idle: "空闲", closed: "已关闭",
		needCount:  func(n int) string { return fmt.Sprintf("%d 个等你", n) },
		workCount:  func(n int) string { return fmt.Sprintf("%d 个工作中", n) },
		doneCount:  func(n int) string { return fmt.Sprintf("%d 个完成", n) },
		daemonGone: "守护进程不在，正在寻找", linkDown: "连接中断，按键已保留",
		keysGoTo: "按键送往", more: "更多",
		sizeOfOther: func(c, r int) string {
			return fmt.Sprintf("%d×%d，另一终端的大小；输入即改为你的", c, r)
		},
		scrolledBack: func(n int) string { return fmt.Sprintf("回看 %d 行；Esc 返回", n) },
		ended:        "此会话已结束。",
		asks:         "询问", gone: "已经回答过，没有输入任何内容", tooSoon: "问题刚刚出现，请看清后再答",
		answerHint: "按数字回答",
		actNew:     "新建智能体", actTerminal: "新建终端", actClose: "关闭会话", actRename: "重命名会话",
		actResume: "恢复已关闭的会话", actNextAsk: "下一个等你的", actQuit: "退出（会话继续运行）", actHelp: "按键",
		actSidebar: "到列表", actPane: "到终端", actUp: "上", actDown: "下", actFold: "折叠",
		actHide: "显示或隐藏列表", actCommand: "命令", actScroll: "回看", actCopy: "复制",
		actExplain: "解释状态", actSendKey: "发送前缀键本身", actNextSession: "下一个会话", actPrevSession: "上一个会话",
		actRedraw: "重绘", actSeenAll: "全部标为已看", actPin: "置顶",
		confirmClose: func(t string) string { return fmt.Sprintf("关闭“%s”？其中运行的程序将被结束。", t) },
		renamePrompt: "标题", commandPrompt: ":", newPrompt: "提示词，交给", yes: "是", no: "否", press: "按", unknown: "这里没有这个键",
		helpTitle: "按键", helpPrefix: "在前缀键之后，或在列表中单独按",
		inbox: chineseInbox(), start: chineseStart(), palette: chinesePalette(),

		nothingSelected: "没有选中会话", noneAsks: "没有会话在等你",
		age: func(d time.Duration) string {
			switch {
			case d < time.Minute:
				return "刚刚"
			case d < time.Hour:
				return fmt.Sprintf("%d分", int(d.Minutes()))
			case d < 48*time.Hour:
				return fmt.Sprintf("%d时", int(d.Hours()))
			}
			return fmt.Sprintf("%d天", int(d.Hours()/24))
		},
	}
}
