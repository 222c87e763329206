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

// shared: asking.js

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
