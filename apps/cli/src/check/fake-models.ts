import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { isJsonObject, type JsonObject, parseJson } from '#lib/json';
import { valueOf } from './tried-agent.js';

/** A server in the place of those of models, which answers by rules. */
export interface FakeModels {
  readonly url: string;
  /** Variables that lead the libraries of models to it; keys are none of them. */
  readonly environment: Readonly<Record<string, string>>;
  /** Paths that were asked for and that it does not know. */
  readonly unknown: ReadonlySet<string>;
  close(): Promise<void>;
}

interface Tool {
  readonly name: string;
  readonly schema: unknown;
}

/** A request in no one's words. */
interface Asked {
  readonly model: string;
  readonly tools: readonly Tool[];
  /** A tool by name, `any`, or what the model likes. */
  readonly choice: string | undefined;
  /** Schema that the answer has to fit. */
  readonly schema: unknown;
  readonly isStream: boolean;
}

type Answer = { readonly text: string } | { readonly tool: string; readonly args: unknown };

const TEXT = 'This is an answer of no model.';
/** Names of tools by which agents end. */
const ENDS = /done|complete|finish|final|answer|respon|submit|result/i;

function answerOf({ tools, choice, schema }: Asked): Answer {
  if (schema !== undefined) return { text: JSON.stringify(valueOf(schema)) };
  if (choice === undefined || choice === 'none' || choice === 'auto') return { text: TEXT };
  const chosen =
    tools.find(({ name }) => name === choice) ?? tools.find(({ name }) => ENDS.test(name)) ?? tools[0];
  return chosen ? { tool: chosen.name, args: valueOf(chosen.schema) } : { text: TEXT };
}

function member(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce((at, name) => (isJsonObject(at) ? at[name] : undefined), value);
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Reads a request of OpenAI, Anthropic, Ollama or Gemini: their members have names of their own. */
function readAsked(body: JsonObject): Asked {
  const { tool_choice: choice, response_format: format } = body;
  const tools = listOf(body['tools']).flatMap((one) => {
    const declared = listOf(member(one, 'functionDeclarations'));
    const given = declared.length > 0 ? declared : [member(one, 'function') ?? one];
    return given.flatMap((tool) => {
      const name = member(tool, 'name');
      const schema =
        member(tool, 'parameters') ?? member(tool, 'input_schema') ?? member(tool, 'parametersJsonSchema');
      return typeof name === 'string' ? [{ name, schema }] : [];
    });
  });
  const named =
    member(choice, 'function', 'name') ?? member(choice, 'name') ?? member(choice, 'type') ?? choice;
  const mode = member(body, 'toolConfig', 'functionCallingConfig', 'mode') ?? named;
  const isAny = mode === 'required' || mode === 'any' || mode === 'ANY';
  const isJson = member(format, 'type') === 'json_object' || body['format'] === 'json';
  const schema =
    member(format, 'json_schema', 'schema') ??
    member(body, 'text', 'format', 'schema') ??
    member(body, 'output_config', 'format', 'schema') ??
    member(body, 'generationConfig', 'responseSchema') ??
    (isJsonObject(body['format']) ? body['format'] : undefined) ??
    (isJson
      ? { type: 'object', properties: { query: { type: 'string' }, follow_up_query: { type: 'string' } } }
      : undefined);
  return {
    model: typeof body['model'] === 'string' ? body['model'] : 'none',
    tools,
    choice: isAny
      ? 'any'
      : typeof mode === 'string'
        ? mode.toLowerCase() === 'auto'
          ? undefined
          : mode
        : undefined,
    schema,
    isStream: body['stream'] === true,
  };
}

let made = 0;
const nextId = (kind: string): string => `${kind}_${++made}`;
const ARGS = (answer: Answer): string => ('tool' in answer ? JSON.stringify(answer.args) : '');

/** Events of a stream; a pair has a name before its data. */
type Events = readonly (JsonObject | readonly [string, JsonObject])[];

interface Wire {
  whole(answer: Answer, asked: Asked): JsonObject;
  events(answer: Answer, asked: Asked): Events;
}

const CHAT_USAGE = { prompt_tokens: 3, completion_tokens: 5, total_tokens: 8 };

const chat: Wire = {
  whole(answer, { model }) {
    const call = 'tool' in answer && {
      tool_calls: [
        { id: nextId('call'), type: 'function', function: { name: answer.tool, arguments: ARGS(answer) } },
      ],
    };
    const message = { role: 'assistant', content: 'text' in answer ? answer.text : null, ...call };
    const choices = [{ index: 0, message, finish_reason: call ? 'tool_calls' : 'stop', logprobs: null }];
    return {
      id: nextId('chatcmpl'),
      object: 'chat.completion',
      created: 1,
      model,
      choices,
      usage: CHAT_USAGE,
    };
  },
  events(answer, { model }) {
    const id = nextId('chatcmpl');
    const chunk = (delta: JsonObject, reason: string | null = null): JsonObject => ({
      id,
      object: 'chat.completion.chunk',
      created: 1,
      model,
      choices: [{ index: 0, delta, finish_reason: reason }],
    });
    const call = 'tool' in answer && { name: answer.tool, arguments: ARGS(answer) };
    const delta = call
      ? { tool_calls: [{ index: 0, id: nextId('call'), type: 'function', function: call }] }
      : { content: 'text' in answer ? answer.text : '' };
    const end = { ...chunk({}), choices: [], usage: CHAT_USAGE };
    return [
      chunk({ role: 'assistant', content: '' }),
      chunk(delta),
      chunk({}, call ? 'tool_calls' : 'stop'),
      end,
    ];
  },
};

function responseItem(answer: Answer): JsonObject {
  if ('tool' in answer)
    return {
      id: nextId('fc'),
      type: 'function_call',
      status: 'completed',
      call_id: nextId('call'),
      name: answer.tool,
      arguments: ARGS(answer),
    };
  const content = [{ type: 'output_text', text: answer.text, annotations: [] }];
  return { id: nextId('msg'), type: 'message', status: 'completed', role: 'assistant', content };
}

const responses: Wire = {
  whole(answer, { model }) {
    return {
      id: nextId('resp'),
      object: 'response',
      created_at: 1,
      status: 'completed',
      model,
      error: null,
      incomplete_details: null,
      instructions: null,
      metadata: {},
      parallel_tool_calls: true,
      tool_choice: 'auto',
      tools: [],
      output: [responseItem(answer)],
      usage: {
        input_tokens: 3,
        output_tokens: 5,
        total_tokens: 8,
        input_tokens_details: { cached_tokens: 0 },
        output_tokens_details: { reasoning_tokens: 0 },
      },
    };
  },
  events(answer, asked) {
    const response = responses.whole(answer, asked);
    const item = listOf(response['output'])[0] as JsonObject;
    const at = { output_index: 0, item_id: item['id'] };
    const parts =
      'tool' in answer
        ? [{ type: 'response.function_call_arguments.delta', ...at, delta: ARGS(answer) }]
        : [
            {
              type: 'response.content_part.added',
              ...at,
              content_index: 0,
              part: { type: 'output_text', text: '', annotations: [] },
            },
            { type: 'response.output_text.delta', ...at, content_index: 0, delta: answer.text },
            { type: 'response.output_text.done', ...at, content_index: 0, text: answer.text },
          ];
    const begun = 'tool' in answer ? { ...item, arguments: '' } : { ...item, content: [] };
    const events = [
      { type: 'response.created', response: { ...response, status: 'in_progress', output: [] } },
      { type: 'response.output_item.added', output_index: 0, item: begun },
      ...parts,
      { type: 'response.output_item.done', output_index: 0, item },
      { type: 'response.completed', response },
    ];
    return events.map((event, number) => [event.type, { ...event, sequence_number: number }] as const);
  },
};

const ANTHROPIC_USAGE = { input_tokens: 3, output_tokens: 5 };

const anthropic: Wire = {
  whole(answer, { model }) {
    const content =
      'tool' in answer
        ? { type: 'tool_use', id: nextId('toolu'), name: answer.tool, input: answer.args }
        : { type: 'text', text: answer.text };
    return {
      id: nextId('msg'),
      type: 'message',
      role: 'assistant',
      model,
      content: [content],
      stop_reason: 'tool' in answer ? 'tool_use' : 'end_turn',
      stop_sequence: null,
      usage: ANTHROPIC_USAGE,
    };
  },
  events(answer, asked) {
    const message = anthropic.whole(answer, asked);
    const block = listOf(message['content'])[0] as JsonObject;
    const begun = 'tool' in answer ? { ...block, input: {} } : { ...block, text: '' };
    const delta =
      'tool' in answer
        ? { type: 'input_json_delta', partial_json: ARGS(answer) }
        : { type: 'text_delta', text: answer.text };
    const events: JsonObject[] = [
      { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
      { type: 'content_block_start', index: 0, content_block: begun },
      { type: 'content_block_delta', index: 0, delta },
      { type: 'content_block_stop', index: 0 },
      {
        type: 'message_delta',
        delta: { stop_reason: message['stop_reason'], stop_sequence: null },
        usage: ANTHROPIC_USAGE,
      },
      { type: 'message_stop' },
    ];
    return events.map((event) => [String(event['type']), event] as const);
  },
};

const gemini: Wire = {
  whole(answer) {
    const part =
      'tool' in answer ? { functionCall: { name: answer.tool, args: answer.args } } : { text: answer.text };
    return {
      candidates: [{ content: { role: 'model', parts: [part] }, finishReason: 'STOP', index: 0 }],
      usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 5, totalTokenCount: 8 },
    };
  },
  events: (answer, asked) => [gemini.whole(answer, asked)],
};

const ollama: Wire = {
  whole(answer, { model }) {
    const call = 'tool' in answer && {
      tool_calls: [{ function: { name: answer.tool, arguments: answer.args } }],
    };
    const message = { role: 'assistant', content: 'text' in answer ? answer.text : '', ...call };
    return {
      model,
      created_at: '2026-01-02T03:04:05Z',
      message,
      done: true,
      done_reason: 'stop',
      prompt_eval_count: 3,
      eval_count: 5,
    };
  },
  events: (answer, asked) => [ollama.whole(answer, asked)],
};

const WIRES: readonly (readonly [RegExp, Wire])[] = [
  [/\/chat\/completions$/, chat],
  [/\/responses$/, responses],
  [/\/messages$/, anthropic],
  [/:(generate|streamGenerate)Content$/, gemini],
  [/\/api\/chat$/, ollama],
];

function vectors({ input, dimensions, encoding_format: format }: JsonObject): JsonObject {
  const values = new Float32Array(typeof dimensions === 'number' ? dimensions : 1536).fill(0.5);
  const embedding = format === 'base64' ? Buffer.from(values.buffer).toString('base64') : [...values];
  const data = (Array.isArray(input) && typeof input[0] !== 'number' ? input : [input]).map((_, index) => ({
    object: 'embedding',
    index,
    embedding,
  }));
  return { object: 'list', data, model: 'none', usage: { prompt_tokens: 1, total_tokens: 1 } };
}

function answerStream(response: ServerResponse, wire: Wire, asked: Asked): void {
  const events = wire.events(answerOf(asked), asked);
  const isLines = wire === ollama;
  response.writeHead(200, { 'content-type': isLines ? 'application/x-ndjson' : 'text/event-stream' });
  for (const event of events) {
    const [name, data] = Array.isArray(event) ? (event as readonly [string, JsonObject]) : [undefined, event];
    if (isLines) response.write(`${JSON.stringify(data)}\n`);
    else response.write(`${name === undefined ? '' : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`);
  }
  response.end(wire === chat ? 'data: [DONE]\n\n' : '');
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  unknown: Set<string>,
): Promise<void> {
  const { pathname: path } = new URL(request.url ?? '/', 'http://localhost');
  const read: unknown = parseJson((await text(request)) || '{}');
  const body = isJsonObject(read) ? read : {};
  const json = (value: JsonObject, status = 200): void =>
    void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
  const wire = WIRES.find(([pattern]) => pattern.test(path))?.[1];
  if (wire) {
    const asked = readAsked(body);
    const isStream = wire === gemini ? path.includes(':stream') : asked.isStream;
    return isStream ? answerStream(response, wire, asked) : json(wire.whole(answerOf(asked), asked));
  }
  if (path.endsWith('/embeddings')) return json(vectors(body));
  if (path.endsWith(':embedContent')) return json({ embedding: { values: Array(768).fill(0.5) } });
  if (path.endsWith(':batchEmbedContents'))
    return json({ embeddings: listOf(body['requests']).map(() => ({ values: Array(768).fill(0.5) })) });
  if (path.endsWith('/models')) return json({ object: 'list', data: [{ id: 'none', object: 'model' }] });
  unknown.add(`${request.method} ${path}`);
  json(
    { error: { message: `there is no ${path} here: this server stands in for models`, type: 'not_found' } },
    404,
  );
}

/** Starts such a server on a free port of this machine. */
export async function startFakeModels(): Promise<FakeModels> {
  const unknown = new Set<string>();
  const server = createServer((request, response) => {
    void answer(request, response, unknown).catch((error: unknown) => response.destroy(error as Error));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    unknown,
    environment: {
      ...Object.fromEntries(
        ['OPENAI_BASE_URL', 'OPENAI_API_BASE', 'GROQ_API_BASE', 'DEEPSEEK_API_BASE', 'MISTRAL_BASE_URL'].map(
          (name) => [name, `${url}/v1`],
        ),
      ),
      ...Object.fromEntries(
        [
          'ANTHROPIC_BASE_URL',
          'ANTHROPIC_API_URL',
          'GOOGLE_GEMINI_BASE_URL',
          'GROQ_BASE_URL',
          'OLLAMA_HOST',
          'OLLAMA_BASE_URL',
        ].map((name) => [name, url]),
      ),
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
