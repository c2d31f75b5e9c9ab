
// Sessions that another session began: what happens in them is no turn of the person's.
const children = new Set()

export const Termio = async () => ({
  event: async ({ event }) => {
    const info = event.properties?.info
    if (info?.parentID) children.add(info.id)
    const session = event.properties?.sessionID ?? info?.id
    report(event.type, children.has(session) ? { ...event, subagent: session } : event)
  },
  "chat.message": async (input, output) => {
    const prompt = (output?.parts ?? []).filter((p) => p.type === "text" && !p.synthetic).map((p) => p.text).join("\n")
    const event = { type: "chat.message", properties: { sessionID: input.sessionID }, prompt }
    report(event.type, children.has(input.sessionID) ? { ...event, subagent: input.sessionID } : event)
  },
})
