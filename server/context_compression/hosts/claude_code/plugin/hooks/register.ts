import type { Register } from 'claude-code'

const PATIENCE = 600_000 // milliseconds; a model that the user has named may write a summary

// A compaction answered with our view: our command reads the transcript and says which rows stay
// (by their number) and which are new. A process of its own answers also while our server starts,
// or after it ended. Whatever goes wrong here, the host compacts as it does without us.
export const register: Register = on => {
  on('session.compact', async ($, e, next) => {
    if (e.trigger === 'precompute') return { skip: 'it takes no model, so it is made when needed' }
    const [session, info, usage, env] = await Promise.all([
      $.session.id(),
      $.session.info(),
      $.session.usage(),
      $.process.hookEnv(),
    ])
    const event = {
      hook_event_name: 'session.compact',
      session_id: session,
      transcript_path: info.transcriptPath,
      agent_id: e.agentId ?? '',
      trigger: e.trigger,
      instructions: e.instructions ?? '',
      window: usage.context.window ?? 0,
      handles: e.messages.map(message => message.handle ?? ''),
    }
    const command = ['sh', `${$.plugin.root}/start.sh`, 'hook', 'claude-code']
    const answer = await $.process
      .run(command, { env, stdin: JSON.stringify(event), timeoutMs: PATIENCE })
      .then(ended => JSON.parse(ended.stdout || '{}'))
      .catch(error => $.ui.log(`no answer: ${error}`, { to: 'debug' }) ?? {})
    if (answer.skip) return { skip: answer.skip }
    if (Array.isArray(answer.messages)) {
      return { messages: answer.messages.map(row => (typeof row === 'number' ? e.messages[row] : row)) }
    }
    const told = [e.instructions, answer.instructions].filter(Boolean).join('\n\n')
    return next(told ? { ...e, instructions: told } : e)
  })
}
