package tui

import "fmt"

// startWords are the texts of what starts sessions and gives them work.
type startWords struct {
	send, quick                         string // actions
	prompt, agent, where, here          string
	promptHint                          string // in the empty field
	looking                             string // for agents
	absent                              string // beside an agent that is not on the machine
	getIt                               func(where string) string
	notFound                            func(name, where string) string
	worktree, noGit, branch, branchHint string
	bypass                              string
	hint, starting                      string

	to                           func(title string) string
	message                      string // in the empty field
	sendHint, worksHint, sending string
	asksFirst                    string
	sent, queued                 func(title string) string
}

func englishStart() startWords {
	return startWords{
		send: "Send a prompt", quick: "New agent at once",
		prompt: "What is to be done", agent: "Agent", where: "Where", here: "the current folder",
		promptHint: "empty: type it into the terminal", looking: "looking for agents…", absent: "not found",
		getIt:    func(at string) string { return "get it: " + at },
		notFound: func(n, at string) string { return fmt.Sprintf("%s is not on this machine; get it: %s", n, at) },
		worktree: "own work tree, on a new branch", noGit: "no work tree: no git here",
		branch: "branch", branchHint: "named by itself",
		bypass: "skip permissions, all new agents",
		hint:   "⏎ start  ⇥ next  ←→ change  esc", starting: "starting…",
		to:       func(t string) string { return "To " + t },
		message:  "A prompt",
		sendHint: "⏎ send  alt-⏎ line  esc", worksHint: "⏎ send; it takes it when it can", sending: "sending…",
		asksFirst: "it asks you something; esc, then i answers",
		sent:      func(t string) string { return "sent to " + t },
		queued:    func(t string) string { return "waits its turn in " + t },
	}
}

func chineseStart() startWords {
	return startWords{
		send: "发送提示词", quick: "立即新建智能体",
		prompt: "要做什么", agent: "智能体", where: "位置", here: "当前文件夹",
		promptHint: "留空则在终端中输入", looking: "正在寻找智能体…", absent: "未找到",
		getIt:    func(at string) string { return "获取：" + at },
		notFound: func(n, at string) string { return fmt.Sprintf("本机没有 %s；获取：%s", n, at) },
		worktree: "使用新分支上的独立工作树", noGit: "没有工作树：此文件夹不在 git 中",
		branch: "分支", branchHint: "自动命名",
		bypass: "所有新智能体都跳过许可询问",
		hint:   "⏎ 启动  ⇥ 下一项  ←→ 更改  esc", starting: "正在启动…",
		to:       func(t string) string { return "发给 " + t },
		message:  "提示词",
		sendHint: "⏎ 发送  alt-⏎ 换行  esc", worksHint: "⏎ 发送；它完成手头工作后接收", sending: "正在发送…",
		asksFirst: "它在等你回答；按 esc，再按 i 回答",
		sent:      func(t string) string { return "已发给 " + t },
		queued:    func(t string) string { return "已排队：" + t },
	}
}
