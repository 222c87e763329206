import type { Register } from 'claude-code'

const SERVER = 'plugin:context-compression:context'

// A compaction answered with our view: our server reads the transcript and says which rows stay
// (by their number) and which are new. Whatever goes wrong here, a throw included, the host
// compacts as it does without us.
export const register: Register = on => {
  on('session.compact', async ($, e, next) => {
    if (e.trigger === 'precompute') return { skip: 'it takes no model, so it is made when needed' }
    const [session, info, usage] = await Promise.all([
      $.session.id(),
      $.session.info(),
      $.session.usage(),
    ])
    const answer = await $.mcp.call(SERVER, 'context_hook', {
      hook_event_name: 'session.compact',
      session_id: session,
      transcript_path: info.transcriptPath,
      agent_id: e.agentId ?? '',
      trigger: e.trigger,
      instructions: e.instructions ?? '',
      window: usage.context.window ?? 0,
      handles: e.messages.map(message => message.handle ?? ''),
    })
    const text = answer.content.map(block => (block.type === 'text' ? block.text : '')).join('')
    const rows = JSON.parse(text).messages
    if (!Array.isArray(rows)) return next(e)
    return { messages: rows.map(row => (typeof row === 'number' ? e.messages[row] : row)) }
  })
}
