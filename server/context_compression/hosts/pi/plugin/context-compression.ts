// Context compression for Pi: large tool results are archived before they enter the conversation,
// requests that grow too long are sent as our view, compactions are answered with it.
// All of the work is done by `context-compression hook pi`. Whatever goes wrong, Pi goes on as
// without us.
import { spawn } from 'node:child_process'
import { readFile, stat } from 'node:fs/promises'

const COMMAND = ['context-compression'] // `context-compression install pi` writes the full path here
const HOST = 'pi'

const DENSEST = 2 // bytes of a token, at least, in results and requests as a whole
const SHORTEST = DENSEST * 1_000 // bytes of a result; a shorter one is not sent anywhere
const LONGEST = 4_000_000 // bytes of a file that Pi has put a result into
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

const about = (ctx: any) => ({
  session_id: ctx.sessionManager.getSessionId(),
  model: ctx.model?.id,
  window: ctx.model?.contextWindow,
})

export default function (pi: any) {
  let view: any = undefined // { until, mark, messages }: what stands for the first messages
  let seen = 0 // messages that we were asked about
  let enough = 0 // length of a request that needed no change

  const askers = new Map() // by folder
  const ask = (cwd: string) => askers.get(cwd) ?? askers.set(cwd, asker(cwd)).get(cwd)

  pi.on('session_shutdown', () => askers.forEach(asked => asked.end()))

  pi.on('session_start', () => {
    view = undefined
    seen = enough = 0
  })

  pi.on('tool_result', async (event: any, ctx: any) => {
    const texts = event.content.filter((part: any) => part.type === 'text')
    const shown = texts.map((part: any) => part.text).join('\n')
    if (Buffer.byteLength(shown) < SHORTEST) return undefined
    const saved = event.details?.fullOutputPath
    const text = (saved && (await whole(saved))) || shown
    const { toolName, toolCallId, input } = event
    const called = { toolName, toolCallId, input, text, shown }
    const answer = await ask(ctx.cwd)({ hook_event_name: 'tool_result', ...about(ctx), ...called })
    if (typeof answer.text !== 'string') return undefined
    const others = event.content.filter((part: any) => part.type !== 'text')
    return { content: [{ type: 'text', text: answer.text }, ...others] }
  })

  pi.on('context', async (event: any, ctx: any) => {
    const { messages } = event
    const mark = (until: number) => JSON.stringify(messages[until - 1])
    const left = view && view.mark !== mark(view.until) // for another branch, or by a compaction
    if (left) view = undefined
    const ours = view && [...view.messages, ...messages.slice(view.until)]
    const length = JSON.stringify(ours ?? messages).length
    const compressed = messages
      .slice(seen)
      .some((message: any) => message.role === 'toolResult' && /context_compress$/.test(message.toolName))
    const resumed = seen === 0 && messages.length > 1
    const least = Math.max(PART * DENSEST * (ctx.model?.contextWindow ?? 200_000), GROWN * enough)
    if (compressed || resumed || left || length > least) {
      const answer = await ask(ctx.cwd)({ hook_event_name: 'context', ...about(ctx), messages })
      if (Array.isArray(answer.messages)) {
        view = { until: messages.length, mark: mark(messages.length), messages: answer.messages }
        enough = JSON.stringify(answer.messages).length
      } else {
        enough = length
      }
    }
    seen = messages.length
    return view && { messages: [...view.messages, ...messages.slice(view.until)] }
  })

  pi.on('session_before_compact', async (event: any, ctx: any) => {
    const { messagesToSummarize, turnPrefixMessages, previousSummary } = event.preparation
    const { firstKeptEntryId, tokensBefore } = event.preparation
    const answer = await ask(ctx.cwd)(
      {
        hook_event_name: 'session_before_compact',
        ...about(ctx),
        messages: [...messagesToSummarize, ...turnPrefixMessages],
        previousSummary,
        focus: event.customInstructions,
        reason: event.reason,
      },
      3 * PATIENCE,
    )
    if (typeof answer.summary !== 'string') return undefined
    view = undefined
    return { compaction: { summary: answer.summary, firstKeptEntryId, tokensBefore } }
  })
}
