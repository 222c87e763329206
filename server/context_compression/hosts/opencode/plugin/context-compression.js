// Context compression for opencode: large tool results are archived before they enter the
// conversation, requests that grow too long are sent as our view, a compaction is told what to keep.
// All of the work is done by `context-compression hook opencode`. Whatever goes wrong, opencode goes
// on as without us.
import { spawn } from 'node:child_process'
import { readFile, stat } from 'node:fs/promises'

const COMMAND = ['context-compression'] // `context-compression install opencode` writes the full path here

const SHORTEST = 2_000 // characters of a result; what is shorter is not worth a process
const LONGEST = 4_000_000 // bytes of a file that opencode has put a result into
const DENSEST = 2 // characters of a token, at least, in requests as a whole
const PART = 0.75 // of the window, below which nothing is ever due
const GROWN = 1.05 // as much longer a request has to be than one that needed no change
const PATIENCE = 20_000 // ms

const ask = (cwd, event) =>
  new Promise(resolve => {
    const [program, ...given] = process.env.CONTEXT_COMPRESSION_COMMAND
      ? [process.env.CONTEXT_COMPRESSION_COMMAND]
      : COMMAND
    const child = spawn(program, [...given, 'hook', 'opencode'], { cwd, stdio: ['pipe', 'pipe', 'ignore'] })
    const timer = setTimeout(() => child.kill('SIGKILL'), PATIENCE)
    const said = []
    child.on('error', () => resolve({}))
    child.stdin.on('error', () => {}) // it ended without reading
    child.stdout.on('data', data => said.push(data))
    child.on('close', () => {
      clearTimeout(timer)
      try {
        resolve(JSON.parse(Buffer.concat(said).toString() || '{}'))
      } catch {
        resolve({})
      }
    })
    child.stdin.end(JSON.stringify(event))
  }).catch(() => ({}))

// All of a result that opencode has put into a file, where it is not too much.
async function whole(path) {
  try {
    return (await stat(path)).size <= LONGEST ? await readFile(path, 'utf8') : undefined
  } catch {
    return undefined
  }
}

export const ContextCompression = async ({ directory }) => {
  const sessions = new Map() // by id: what we know of it, and what stands for its first messages
  const known = id => sessions.get(id) ?? sessions.set(id, { seen: 0, enough: 0 }).get(id)
  const about = id => ({ session_id: id, model: known(id).model, window: known(id).window })

  return {
    'chat.params': async ({ sessionID, model }) => {
      Object.assign(known(sessionID), { model: model.id, window: model.limit?.context || undefined })
    },

    'tool.execute.after': async ({ tool, sessionID, callID, args }, output) => {
      const texts = output.content?.filter(part => part.type === 'text') ?? []
      const shown = output.output ?? texts.map(part => part.text).join('\n')
      if (shown.length < SHORTEST) return
      const saved = output.metadata?.outputPath
      const text = (saved && (await whole(saved))) || shown
      const event = { hook_event_name: 'tool.execute.after', ...about(sessionID), tool, callID, args, text, shown }
      const answer = await ask(directory, event)
      if (typeof answer.text !== 'string') return
      if (typeof output.output === 'string') output.output = answer.text
      if (texts.length > 0) {
        const others = output.content.filter(part => part.type !== 'text')
        output.content = [{ type: 'text', text: answer.text }, ...others]
      }
    },

    'experimental.chat.messages.transform': async (_, { messages }) => {
      const id = messages[0]?.info.sessionID
      if (!id) return
      const session = known(id)
      const last = until => messages[until - 1]?.info.id
      let { view } = session
      const left = view && view.last !== last(view.until) // by a revert, or a compaction
      if (left) view = undefined
      const ours = view ? [...view.messages, ...messages.slice(view.until)] : messages
      const length = JSON.stringify(ours).length
      const compressed = messages
        .slice(session.seen ? session.seen - 1 : 0)
        .some(message => message.parts.some(part => part.type === 'tool' && /context_compress$/.test(part.tool)))
      const resumed = session.seen === 0 && messages.length > 1
      const least = Math.max(PART * DENSEST * (session.window ?? 200_000), GROWN * session.enough)
      if (compressed || resumed || left || length > least) {
        const answer = await ask(directory, { hook_event_name: 'messages.transform', ...about(id), messages })
        if (Array.isArray(answer.messages)) {
          view = { until: messages.length, last: last(messages.length), messages: answer.messages }
          session.enough = JSON.stringify(answer.messages).length
        } else {
          session.enough = length
        }
      }
      session.seen = messages.length
      session.view = view
      if (view) messages.splice(0, messages.length, ...view.messages, ...messages.slice(view.until))
    },

    'experimental.session.compacting': async ({ sessionID }, output) => {
      const answer = await ask(directory, { hook_event_name: 'session.compacting', ...about(sessionID) })
      if (typeof answer.context === 'string') output.context.push(answer.context)
    },
  }
}
