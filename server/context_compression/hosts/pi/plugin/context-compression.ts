// Context compression for Pi: large tool results are archived before they enter the conversation,
// requests that grow too long are sent as our view, compactions are answered with it.
// All of the work is done by `context-compression hook pi`. Whatever goes wrong, Pi goes on as
// without us.
import { spawn } from 'node:child_process'
import { readFile, stat } from 'node:fs/promises'

const COMMAND = ['context-compression'] // `context-compression install pi` writes the full path here

const SHORTEST = 2_000 // characters of a result; what is shorter is not worth a process
const LONGEST = 4_000_000 // bytes of a file that Pi has put a result into
const DENSEST = 2 // characters of a token, at least, in requests as a whole
const PART = 0.75 // of the window, below which nothing is ever due
const GROWN = 1.05 // as much longer a request has to be than one that needed no change
const PATIENCE = 20_000 // ms

function ask(cwd: string, event: any, patience = PATIENCE): Promise<any> {
  return new Promise(resolve => {
    const [program, ...given] = process.env.CONTEXT_COMPRESSION_COMMAND
      ? [process.env.CONTEXT_COMPRESSION_COMMAND]
      : COMMAND
    const child = spawn(program, [...given, 'hook', 'pi'], { cwd, stdio: ['pipe', 'pipe', 'ignore'] })
    const timer = setTimeout(() => child.kill('SIGKILL'), patience)
    const said: Buffer[] = []
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
  })
}

// All of a result that Pi has put into a file, where it is not too much.
async function whole(path: string): Promise<string | undefined> {
  try {
    return (await stat(path)).size <= LONGEST ? await readFile(path, 'utf8') : undefined
  } catch {
    return undefined
  }
}

const about = (ctx: any) => ({
  session_id: ctx.sessionManager.getSessionId(),
  model: ctx.model?.id,
  window: ctx.model?.contextWindow,
})

export default function (pi: any) {
  let view: any = undefined // { until, mark, messages }: what stands for the first messages
  let seen = 0 // messages that we were asked about
  let enough = 0 // length of a request that needed no change

  pi.on('session_start', () => {
    view = undefined
    seen = enough = 0
  })

  pi.on('tool_result', async (event: any, ctx: any) => {
    const texts = event.content.filter((part: any) => part.type === 'text')
    const shown = texts.map((part: any) => part.text).join('\n')
    if (shown.length < SHORTEST) return undefined
    const saved = event.details?.fullOutputPath
    const text = (saved && (await whole(saved))) || shown
    const { toolName, toolCallId, input } = event
    const called = { toolName, toolCallId, input, text, shown }
    const answer = await ask(ctx.cwd, { hook_event_name: 'tool_result', ...about(ctx), ...called })
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
      const answer = await ask(ctx.cwd, { hook_event_name: 'context', ...about(ctx), messages })
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
    const answer = await ask(
      ctx.cwd,
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
