
export default function (pi) {
  for (const name of Object.keys(events)) {
    pi.on(name, (event, ctx) => {
      const { messages, ...rest } = event ?? {}
      const sent = report(name, {
        ...rest,
        type: name,
        stopReason: messages?.at?.(-1)?.stopReason,
        errorMessage: messages?.at?.(-1)?.errorMessage,
        session_id: ctx?.sessionManager?.getSessionId?.(),
        transcript_path: ctx?.sessionManager?.getSessionFile?.(),
        cwd: ctx?.cwd,
      })
      // The process ends with its last handler.
      if (name === "session_shutdown") return sent.then(() => undefined)
    })
  }
}
