// The plugins of Pi and opencode have this part in common; `install` puts it into them. One process
// answers all events, because starting Python takes much longer than the work itself. It ends with the host.
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
