
export const description = "Reports to termio what Amp does."

export default function (amp) {
  for (const name of Object.keys(events)) {
    amp.on(name, (event) => {
      report(name, event)
    })
  }
}
