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

// shared: asking.js

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
