// Runs for the benchmark of exports: text that compresses some four times, and conversations that send their history again.
import { randomBytes, randomUUID } from 'node:crypto';

export const DAY = '2026-11-20';

const WORDS = Array.from({ length: 1500 }, () =>
  randomBytes(2 + Math.floor(Math.random() * 5)).toString('base64url'),
);
/** Common words are far more common than rare ones. */
function words(bytes) {
  let text = '';
  while (text.length < bytes) text += `${WORDS[Math.floor(WORDS.length * Math.random() ** 5)]} `;
  return text.slice(0, bytes);
}
/** What comes again in conversations: names, calls of tools, turns of phrase. */
const PHRASES = Array.from({ length: 4000 }, () => words(20 + Math.random() * 60));
function passage(bytes) {
  let text = '';
  while (text.length < bytes)
    text += Math.random() < 0.5 ? PHRASES[Math.floor(PHRASES.length * Math.random() ** 3)] : words(30);
  return text.slice(0, bytes);
}
const size = (mean) => Math.min(8000, Math.max(40, Math.round(-Math.log(1 - Math.random()) * mean)));
const message = (role, mean) => ({ role, content: passage(size(mean)) });
const json = (value) => Buffer.from(JSON.stringify(value));

function operation(project, n, count, more, fields) {
  const id = randomUUID();
  const start = new Date(Date.parse(`${DAY}T00:00:00Z`) + Math.floor((n * 86_400_000) / count));
  const run = {
    ...{ id, trace_id: id, run_type: 'llm', session_name: project },
    ...{ start_time: start.toISOString() },
    end_time: new Date(start.getTime() + 900 + (n % 4000)).toISOString(),
    tags: ['production', `team-${n % 7}`],
    ...more,
  };
  return {
    run: json(run),
    fields: {
      ...fields,
      events: json([{ name: 'new_token', time: start.toISOString() }]),
    },
  };
}

const usage = (n) => ({
  input_tokens: 300 + (n % 900),
  output_tokens: 100 + (n % 300),
  total_tokens: 400 + (n % 1200),
});

/** Agent runs of about 4.5 KB, none of which repeats another. */
export function benchRow(project, n, count) {
  return operation(
    project,
    n,
    count,
    { name: `ChatModel ${n % 12}` },
    {
      inputs: json({ messages: [message('system', 830), message('user', 2050)] }),
      outputs: json({ ...message('assistant', 1330), usage_metadata: usage(n) }),
      extra: json({ metadata: { thread_id: randomUUID(), model: 'm-1', temperature: 0.7 } }),
    },
  );
}

const CONVERSATIONS = 40;
const CALLS = 20;
const PROMPTS = Array.from({ length: 5 }, () => passage(900));
const TOOLS = ['search', 'read_page', 'calculator', 'run_query'];

/** Calls of 40 conversations at a time, each with its whole history of up to 20 calls, tools and a system prompt. */
export function conversationRows(project, count) {
  const begin = (n) => ({
    thread: randomUUID(),
    calls: 0,
    history: [{ role: 'system', content: PROMPTS[n % PROMPTS.length] }],
  });
  const open = Array.from({ length: CONVERSATIONS }, (_, n) => begin(n));
  return (n) => {
    const at = n % CONVERSATIONS;
    let talk = open[at];
    if (talk.calls === CALLS) talk = open[at] = begin(n);
    const tool = TOOLS[talk.calls % TOOLS.length];
    talk.history.push(
      talk.calls % 3 === 0
        ? message('user', 250)
        : { role: 'tool', tool_call_id: `call_${n - CONVERSATIONS}`, content: passage(size(400)) },
    );
    const call = { id: `call_${n}`, type: 'function', function: { name: tool, arguments: words(40) } };
    const answer = { ...message('assistant', 200), tool_calls: [call] };
    const inputs = json({ messages: talk.history });
    talk.history.push(answer);
    talk.calls++;
    return operation(
      project,
      n,
      count,
      { name: 'ChatModel' },
      {
        inputs,
        outputs: json({ ...answer, usage_metadata: usage(n) }),
        extra: json({ metadata: { thread_id: talk.thread, ls_model_name: 'm-1', ls_temperature: 0.7 } }),
      },
    );
  };
}
