package tui

import (
	"fmt"

	"termio/internal/api"
)

// inboxWords are the texts of the inbox.
type inboxWords struct {
	title     string
	ofAll     func(i, n int) string
	kinds     map[api.DialogKind]string // what is asked for
	ownWords  string                    // the choice to answer with a text
	answer    string                    // in the empty field
	onItsWay  string
	tickFirst string

	pickHint, tickHint, typeHint, thereHint, goneHint string
}

func englishInbox() inboxWords {
	return inboxWords{
		title: "Needs you",
		ofAll: func(i, n int) string { return fmt.Sprintf("Needs you · %d of %d", i, n) },
		kinds: map[api.DialogKind]string{
			api.DialogPermission: "permission", api.DialogQuestion: "question", api.DialogTrust: "trust",
			api.DialogLogin: "login", api.DialogLimit: "limit",
		},
		ownWords: "In your own words…", answer: "Your answer", onItsWay: "The answer is on its way…",
		tickFirst: "tick an option first",
		pickHint:  "⏎ answer  ⇥ next  o terminal  esc",
		tickHint:  "space tick  ⏎ answer  ⇥ next  esc",
		typeHint:  "⏎ answer  ⇥ next  esc",
		thereHint: "⏎ to its terminal  ⇥ next  esc",
		goneHint:  "answered elsewhere; nothing typed  ⏎",
	}
}

func chineseInbox() inboxWords {
	return inboxWords{
		title: "等你处理",
		ofAll: func(i, n int) string { return fmt.Sprintf("等你处理 · 第 %d 个，共 %d 个", i, n) },
		kinds: map[api.DialogKind]string{
			api.DialogPermission: "许可", api.DialogQuestion: "提问", api.DialogTrust: "信任",
			api.DialogLogin: "登录", api.DialogLimit: "限额",
		},
		ownWords: "自己写答案…", answer: "你的答案", onItsWay: "答案正在送达…",
		tickFirst: "请先勾选一项",
		pickHint:  "⏎ 回答  ⇥ 下一个  o 终端  esc",
		tickHint:  "空格 勾选  ⏎ 回答  ⇥ 下一个  esc",
		typeHint:  "⏎ 回答  ⇥ 下一个  esc",
		thereHint: "⏎ 到其终端  ⇥ 下一个  esc",
		goneHint:  "已在别处回答，没有输入任何内容  ⏎",
	}
}
