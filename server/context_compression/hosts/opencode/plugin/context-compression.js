// Context compression for opencode: large tool results are archived before they enter the
// conversation, requests that grow too long are sent as our view, a compaction is told what to keep.
// All of the work is done by `context-compression hook opencode`. Whatever goes wrong, opencode goes
// on as without us.
import { spawn } from 'node:child_process'
import { readFile, stat } from 'node:fs/promises'

const COMMAND = ['context-compression'] // `context-compression install opencode` writes the full path here
const HOST = 'opencode'

const DENSEST = 2 // bytes of a token, at least, in results and requests as a whole
const SHORTEST = DENSEST * 1_000 // bytes of a result; a shorter one is not sent anywhere
const LONGEST = 4_000_000 // bytes of a file that opencode has put a result into
const PART = 0.75 // of the window, below which nothing is ever due
const GROWN = 1.05 // as much longer a request has to be than one that needed no change

// What follows up to `the end` is the same in the plugins of Pi and opencode. One process answers all
// events, because starting Python takes much longer than the work itself. It ends with the host.
const STARTS = 2 // of that process; where it ends once more, each event gets a process of its own
const PATIENCE = 20_000 // ms

const run = (cwd, ...options) => {
  const own = process.env.CONTEXT_COMPRESSION_COMMAND
  const [program, ...given] = own ? [own] : COMMAND
  return spawn(program, [...given, 'hook', HOST, ...options], { cwd, stdio: ['pipe', 'pipe', 'ignore'] })
}

const askOnce = (cwd, event, patience) =>
  new Promise(resolve => {
    const child = run(cwd)
    const timer = setTimeout(() => child.kill('SIGKILL'), patience)
    const answered = answer => {
      clearTimeout(timer)
      resolve(answer)
    }
    const said = []
    child.on('error', () => answered({}))
    child.stdin.on('error', () => {}) // it ended without reading
    child.stdout.on('data', data => said.push(data))
    child.on('close', () => {
      try {
        answered(JSON.parse(Buffer.concat(said).toString() || '{}'))
      } catch {
        answered({})
      }
    })
    child.stdin.end(JSON.stringify(event))
  })

// The process, and by the ids of requests: what to do with their answers.
function startHelper(cwd, ended) {
  const child = run(cwd, '--serve')
  const waiting = new Map()
  const end = () => {
    ended()
    for (const answered of waiting.values()) answered(undefined)
    waiting.clear()
  }
  const take = line => {
    try {
      const { id, answer } = JSON.parse(line)
      waiting.get(id)?.(answer ?? {})
      waiting.delete(id)
    } catch {
      child.kill('SIGKILL') // it says other things than answers
    }
  }
  let rest = ''
  child.stdout.setEncoding('utf8')
  child.stdout.on('data', text => {
    const [first, ...others] = text.split('\n')
    rest += first
    for (const other of others) {
      take(rest)
      rest = other
    }
  })
  child.on('error', end)
  child.on('close', end)
  child.stdin.on('error', () => {})
  for (const kept of [child, child.stdin, child.stdout]) kept.unref?.() // the host may end before it
  return { child, waiting }
}

// A function from an event to its answer; `{}` changes nothing.
function asker(cwd) {
  let helper = undefined
  let starts = 0
  let last = 0 // id of the newest request

  const request = (event, patience) =>
    new Promise(resolve => {
      const { child, waiting } = helper
      const id = (last += 1)
      const timer = setTimeout(() => {
        waiting.delete(id)
        resolve({})
        child.kill('SIGKILL') // the others that wait ask again
      }, patience)
      waiting.set(id, answer => {
        clearTimeout(timer)
        resolve(answer)
      })
      child.stdin.write(JSON.stringify({ id, event }) + '\n')
    })

  const ask = async (event, patience = PATIENCE) => {
    try {
      while (helper || starts < STARTS) {
        if (!helper) {
          starts += 1
          const started = startHelper(cwd, () => {
            if (helper === started) helper = undefined
          })
          helper = started
        }
        const answer = await request(event, patience)
        if (answer) return answer
      }
      return await askOnce(cwd, event, patience)
    } catch {
      return {}
    }
  }
  ask.end = () => helper?.child.stdin.end()
  return ask
}

// All of a result that the host has put into a file, where it is not too much.
async function whole(path) {
  try {
    return (await stat(path)).size <= LONGEST ? await readFile(path, 'utf8') : undefined
  } catch {
    return undefined
  }
}
// the end

export const ContextCompression = async ({ directory }) => {
  const ask = asker(directory)
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
      if (Buffer.byteLength(shown) < SHORTEST) return
      const saved = output.metadata?.outputPath
      const text = (saved && (await whole(saved))) || shown
      const event = { hook_event_name: 'tool.execute.after', ...about(sessionID), tool, callID, args, text, shown }
      const answer = await ask(event)
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
        const answer = await ask({ hook_event_name: 'messages.transform', ...about(id), messages })
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
      const answer = await ask({ hook_event_name: 'session.compacting', ...about(sessionID) })
      if (typeof answer.context === 'string') output.context.push(answer.context)
    },
  }
}
