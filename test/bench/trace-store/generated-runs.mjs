// Runs as agents make them, the same for the same seed on every machine: traces of a chain with calls of a model and of tools,
// histories that grow from call to call, system prompts that come again, and text whose words are as unequal as those of people.

const SYSTEM_PROMPTS = 5;
const PROMPT_BYTES = 900;
/** Text that all messages are cut from. */
const CORPUS_BYTES = 1 << 20;
const TOOLS = ['search', 'read_page', 'calculator', 'run_query'];
/** Runs of a trace on average. */
const RUNS_OF_TRACE = 6;
const SAMPLE_TRACES = 400;

/** Numbers from 0 to below 1, by mulberry32. */
function randomOf(seed) {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

const corpus = (() => {
  const random = randomOf(7);
  const letters = 'etaoinshrdlucmfwypvbgkjqxz';
  const letter = () => letters[Math.floor(letters.length * random() ** 2)];
  const words = Array.from({ length: 3000 }, () =>
    Array.from({ length: 2 + Math.floor(random() * 8) }, letter).join(''),
  );
  let text = '';
  while (text.length < CORPUS_BYTES) text += `${words[Math.floor(words.length * random() ** 4)]} `;
  return text;
})();

const iso = (ms) => `${new Date(ms).toISOString().slice(0, -1)}000Z`;

/** A UUID of version 7, as the clients make them. */
function uuidAt(ms, random) {
  const hex = (bits) =>
    Math.floor(random() * 2 ** bits)
      .toString(16)
      .padStart(bits / 4, '0');
  const time = ms.toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${hex(12)}-${(8 + Math.floor(random() * 4)).toString(16)}${hex(12)}-${hex(24)}${hex(24)}`;
}

class TraceMaker {
  #random;
  #scale;
  #options;

  constructor(number, scale, options) {
    this.#random = randomOf(options.seed * 1_000_003 + number);
    this.#scale = scale;
    this.#options = options;
  }

  #text(mean) {
    const bytes = Math.max(8, Math.round(mean * (0.3 + 1.4 * this.#random())));
    const from = Math.floor(this.#random() * (CORPUS_BYTES - bytes));
    return corpus.slice(from, from + bytes);
  }

  /** The runs of a trace that begins then, the root first. */
  runs(number, startMs) {
    const { inputs, outputs } = this.#scale;
    const turns = 1 + Math.floor(this.#random() * 4);
    const id = () => uuidAt(startMs, this.#random);
    const trace = id();
    const segment = (at, run) => `${iso(at).replace(/[-:.]/g, '')}${run}`;
    const rootOrder = segment(startMs, trace);
    const project = this.#options.project;
    const metadata = {
      thread_id: `thread ${Math.floor(number / 8)}`,
      revision_id: `rev-${Math.floor(number / 5000)}`,
      user_id: `user-${number % 997}`,
    };
    const runtime = {
      sdk: 'langsmith-py',
      sdk_version: '0.4.43',
      library: 'langsmith',
      platform: 'Linux-6.1.0-x86_64-with-glibc2.36',
      runtime: 'python',
      py_implementation: 'CPython',
      runtime_version: '3.12.11',
      langchain_core_version: '1.0.7',
    };
    const prompt = corpus
      .slice(0, PROMPT_BYTES * SYSTEM_PROMPTS)
      .slice((number % SYSTEM_PROMPTS) * PROMPT_BYTES, ((number % SYSTEM_PROMPTS) + 1) * PROMPT_BYTES);
    const history = [
      { role: 'system', content: prompt.slice(0, Math.round(PROMPT_BYTES * Math.min(1, inputs))) },
      { role: 'user', content: this.#text(500 * inputs) },
    ];
    const children = [];
    let at = startMs + 3;
    const child = (fields, ms) => {
      const run = id();
      const order = `${rootOrder}.${segment(at, run)}`;
      children.push({
        id: run,
        trace_id: trace,
        parent_run_id: trace,
        dotted_order: order,
        session_name: project,
        start_time: iso(at),
        end_time: iso(at + ms),
        ...fields,
      });
      at += ms + 2;
    };
    for (let turn = 0; turn < turns; turn++) {
      const isLast = turn === turns - 1;
      const answer = { role: 'assistant', content: this.#text(1100 * outputs) };
      const tool = TOOLS[Math.floor(this.#random() * TOOLS.length)];
      const call = {
        id: `call_${number}_${turn}`,
        type: 'function',
        function: { name: tool, arguments: JSON.stringify({ query: this.#text(60 * outputs) }) },
      };
      const tokens = Math.round(history.reduce((sum, { content }) => sum + content.length, 0) / 4);
      const message = isLast ? answer : { ...answer, tool_calls: [call] };
      child(
        {
          ...{ name: 'ChatModel', run_type: 'llm', inputs: { messages: [...history] } },
          outputs: {
            ...message,
            usage_metadata: {
              input_tokens: tokens,
              output_tokens: 80 + turn,
              total_tokens: tokens + 80 + turn,
            },
          },
          extra: {
            metadata: {
              ...metadata,
              ls_provider: 'openai',
              ls_model_name: 'gpt-5-mini',
              ls_model_type: 'chat',
              ls_temperature: 0.7,
            },
            runtime,
          },
          events: [{ name: 'new_token', time: iso(at + 120) }],
        },
        400 + Math.floor(this.#random() * 3000),
      );
      history.push(message);
      if (isLast) break;
      const result = this.#text(1500 * outputs);
      const failed = this.#random() < 0.02;
      child(
        {
          ...{
            name: tool,
            run_type: 'tool',
            inputs: { input: call.function.arguments, history: this.#text(1500 * inputs) },
          },
          ...(failed
            ? { error: `Traceback (most recent call last):\n${result.slice(0, 300)}` }
            : { outputs: { output: result } }),
          extra: { metadata, runtime },
        },
        20 + Math.floor(this.#random() * 900),
      );
      history.push({ role: 'tool', tool_call_id: call.id, content: result });
    }
    const root = {
      ...{ id: trace, trace_id: trace, dotted_order: rootOrder, session_name: project },
      ...{ name: `agent ${number % 12}`, run_type: 'chain', start_time: iso(startMs), end_time: iso(at) },
      tags: ['production', `team-${number % 7}`],
      inputs: { messages: history.slice(1, 2) },
      outputs: { messages: history.slice(-3) },
      extra: { metadata, runtime },
    };
    return [root, ...children];
  }
}

function* traces(options, scale) {
  for (let number = 0; ; number++) {
    const startMs = options.dayMs + (Math.floor(number * options.stepMs) % options.spanMs);
    yield new TraceMaker(number, scale, options).runs(number, startMs);
  }
}

const sizeOf = (value) => (value === undefined ? 0 : Buffer.byteLength(JSON.stringify(value)));

/** Factors for the lengths of texts with which runs have the wanted sizes on average. */
function scaleFor(options) {
  const scale = { inputs: 1, outputs: 1 };
  // lengths that do not scale (names, prompts, a history that holds outputs) make it no proportion
  for (let round = 0; round < 8; round++) {
    const sizes = { inputs: 0, outputs: 0 };
    let runs = 0;
    const all = traces(options, scale);
    for (let n = 0; n < SAMPLE_TRACES; n++)
      for (const run of all.next().value) {
        runs++;
        sizes.inputs += sizeOf(run.inputs);
        sizes.outputs += sizeOf(run.outputs);
      }
    scale.outputs *= options.outputBytes / (sizes.outputs / runs);
    scale.inputs *= options.inputBytes / (sizes.inputs / runs);
  }
  return scale;
}

/**
 * @param {{ count: number, day: string, seed?: number, project?: string, inputBytes?: number, outputBytes?: number, hours?: number }} options
 *   inputs and outputs have these sizes on average
 * @returns runs as clients describe them, whole traces one after another, evenly spread over the hours of the day
 */
export function* generatedRuns({
  count,
  day,
  seed = 1,
  project = 'bench',
  inputBytes = 3000,
  outputBytes = 1500,
  hours = 23.9,
}) {
  const spanMs = hours * 3_600_000;
  const options = {
    ...{ seed, project, inputBytes, outputBytes, spanMs },
    dayMs: Date.parse(`${day}T00:00:00Z`),
    stepMs: spanMs / (count / RUNS_OF_TRACE),
  };
  let left = count;
  for (const runs of traces(options, scaleFor(options)))
    for (const run of runs) {
      if (left-- === 0) return;
      yield run;
    }
}

const PAYLOADS = ['inputs', 'outputs', 'extra', 'events', 'error'];
const json = (value) => Buffer.from(JSON.stringify(value));

function operationOf(run, fields) {
  const light = Object.fromEntries(Object.entries(run).filter(([name]) => !PAYLOADS.includes(name)));
  return {
    id: run.id,
    run: json(light),
    fields: Object.fromEntries(
      fields.filter((name) => run[name] !== undefined).map((name) => [name, json(run[name])]),
    ),
  };
}

/** A run that has ended before it was sent: clients send it as one create. */
export function wholeRun(run) {
  return { post: operationOf(run, PAYLOADS) };
}

/** A run that was sent when it began, and again when it ended. */
export function runInTwoParts(run) {
  const { id, trace_id, dotted_order, parent_run_id, end_time, ...begun } = run;
  const common = { id, trace_id, dotted_order, parent_run_id };
  return {
    post: operationOf({ ...common, ...begun }, ['inputs', 'extra']),
    patch: operationOf(
      { ...common, end_time, outputs: run.outputs, events: run.events, error: run.error, extra: run.extra },
      ['outputs', 'events', 'error', 'extra'],
    ),
  };
}

const BOUNDARY = 'a3f1c5e8b7d24690bench';
export const MULTIPART = `multipart/form-data; boundary=${BOUNDARY}`;

/** The body of one request, as the Python client writes it. @param operations `{ post }`, `{ patch }` */
export function multipartBody(operations) {
  const pieces = [];
  const part = (name, bytes) =>
    pieces.push(
      Buffer.from(
        `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"\r\nContent-Type: application/json\r\nContent-Length: ${bytes.length}\r\n\r\n`,
      ),
      bytes,
      Buffer.from('\r\n'),
    );
  for (const operation of operations)
    for (const [kind, { id, run, fields }] of Object.entries(operation)) {
      part(`${kind}.${id}`, run);
      for (const [field, bytes] of Object.entries(fields)) part(`${kind}.${id}.${field}`, bytes);
    }
  pieces.push(Buffer.from(`--${BOUNDARY}--\r\n`));
  return Buffer.concat(pieces);
}
