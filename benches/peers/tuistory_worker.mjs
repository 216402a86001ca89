// The tuistory library behind lines of JSON on stdio, used as in "Library Usage" of its README.
import readline from 'node:readline'
import { launchTerminal } from 'tuistory'

const terminals = new Map()

async function call({ op, id, pattern, timeout, text, argv, cwd }) {
  const terminal = terminals.get(id)
  switch (op) {
    case 'open': {
      const [command, ...args] = argv
      // Without waitForData, which would wait for the first output before the scenario starts its own wait.
      terminals.set(id, await launchTerminal({ command, args, cwd, cols: 120, rows: 30, waitForData: false }))
      return {}
    }
    case 'wait':
      try {
        await terminal.waitForText(new RegExp(pattern), { timeout: timeout * 1000 })
        return { found: true }
      } catch (error) {
        return { found: false, why: String(error.message).slice(0, 100) }
      }
    case 'type':
      await terminal.type(text)
      return {}
    case 'press':
      await terminal.press(text)
      return {}
    case 'idle':
      await terminal.waitIdle({ timeout: timeout * 1000 })
      return {}
    case 'exit':
      await terminal.waitForExit(timeout * 1000)
      return { code: terminal.exitInfo?.exitCode ?? null }
    case 'look':
      return { text: await terminal.text({ immediate: true }) }
    case 'close':
      terminals.delete(id)
      terminal.close()
      return {}
  }
}

for await (const line of readline.createInterface({ input: process.stdin })) {
  const request = JSON.parse(line)
  call(request)
    .catch((error) => ({ error: String(error) }))
    .then((result) => console.log(JSON.stringify({ number: request.number, ...result })))
}
for (const terminal of terminals.values()) terminal.close()
process.exit(0)
