
// Sessions that another session began: what happens in them is no turn of the person's.
const children = new Set()
// What each session's last error was, until its turn has ended or another one began.
const errors = new Map()

export const Termio = async () => ({
  event: async ({ event }) => {
    const info = event.properties?.info
    if (info?.parentID) children.add(info.id)
    const session = event.properties?.sessionID ?? info?.id
    if (event.type === "session.error") errors.set(session, event.properties?.error?.name)
    if (event.type === "session.status" && event.properties?.status?.type === "busy") errors.delete(session)
    const after = event.type === "session.idle" ? (errors.get(session) ?? "") : undefined
    report(event.type, { ...event, after, subagent: children.has(session) ? session : undefined })
  },
  "chat.message": async (input, output) => {
    const prompt = (output?.parts ?? []).filter((p) => p.type === "text" && !p.synthetic).map((p) => p.text).join("\n")
    const session = input.sessionID
    report("chat.message", {
      type: "chat.message",
      properties: { sessionID: session },
      prompt,
      subagent: children.has(session) ? session : undefined,
    })
  },
})
