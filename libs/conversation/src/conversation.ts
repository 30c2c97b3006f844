import type { Assistant, Client, Thread } from '@langchain/langgraph-sdk';
import { PublicError } from '#lib/errors';
import { isJsonObject, type JsonObject, parseShort } from '#lib/json';
import type { Clock } from '#lib/time';
import { type Question, questionsOf } from './question.js';
import { contentText } from './read-messages.js';

/** Something that happens while an agent answers. */
export type Happening =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'tool'; readonly id: string; readonly name: string; readonly args: unknown }
  | {
      readonly kind: 'result';
      /** Id of the call. */
      readonly id: string;
      readonly name: string;
      readonly text: string;
      readonly isError: boolean;
    };

/** One answer, as `-o json` prints it. */
export interface Answer {
  readonly thread_id: string;
  readonly run_id: string;
  readonly status: 'success' | 'interrupted' | 'error';
  readonly answer: string;
  readonly error: string | null;
  readonly interrupts: readonly Question[];
  readonly seconds: number;
  readonly total_tokens: number | null;
  readonly total_cost: string | null;
  /** Null where the platform has not stored it. */
  readonly trace_id: string | null;
}

/** Message of a person, as text or as blocks of content, the answer to what an agent asked, or a whole input. */
export type Saying =
  | { readonly text: string | readonly JsonObject[] }
  | { readonly resume: unknown }
  | { readonly input: JsonObject };

/** The input of a graph has no messages, so nothing can be said to it. */
export class NoMessagesError extends PublicError {
  constructor(
    assistant: string,
    /** JSON Schema of its input. */
    readonly schema: JsonObject,
    fields: readonly string[],
  ) {
    super('conflict', `${assistant} takes no messages: its input has the fields ${fields.join(', ')}`);
  }
}

/** The stored run of an answer. */
export interface AnsweredRun {
  readonly trace_id: string;
  readonly status: string;
  readonly total_tokens: number;
  readonly total_cost: string | null;
}

export interface ConversationParts {
  readonly client: Client;
  /** Reads the stored run of an answer; undefined where no platform has it. */
  readonly findRun: ((runId: string) => Promise<AnsweredRun | undefined>) | undefined;
  /** Fate of a run whose stream is left. */
  readonly onDisconnect: 'cancel' | 'continue';
  readonly clock: Clock;
  readonly assistantId: string;
  readonly threadId: string;
}

/** Time for which the trace of an answer is waited for: runs are sent in batches. */
const TRACE_MS = 5_000;
const LOOK_MS = 250;

/** Time for which the schemas of a graph are waited for. */
const CHECK_MS = 3_000;

/** One thread of an agent: what is said, streamed answers, and questions that it waits with. */
export class Conversation {
  /** The check whether the graph takes messages, which is made once. */
  #check: Promise<void> | undefined;

  constructor(private readonly parts: ConversationParts) {}

  get threadId(): string {
    return this.parts.threadId;
  }

  /** Questions that the thread waits with, of any client. */
  async waitsWith(): Promise<readonly Question[]> {
    return (await this.#ended()).interrupts;
  }

  /** @throws NoMessagesError; an agent that shows no schema is not refused */
  requireMessages(): Promise<void> {
    return (this.#check ??= this.#requireMessages());
  }

  async #requireMessages(): Promise<void> {
    const { client, assistantId, clock } = this.parts;
    const { assistants } = client;
    // a busy agent gets the message all the same
    const late = new AbortController();
    const cancel = clock.after(CHECK_MS, () => late.abort());
    const schemas = await assistants
      .getSchemas(assistantId, { signal: late.signal })
      .catch(() => undefined)
      .finally(cancel);
    const schema: unknown = schemas?.input_schema;
    if (!isJsonObject(schema) || !isJsonObject(schema['properties'])) return;
    const fields = Object.keys(schema['properties']);
    const isOpen = ![undefined, false].includes(schema['additionalProperties'] as undefined);
    if (isOpen || fields.length === 0 || fields.includes('messages')) return;
    const found = await assistants.get(assistantId).catch(() => undefined);
    throw new NoMessagesError(found?.name ?? assistantId, schema, fields);
  }

  /** Questions that the thread waits with, and the values that an agent answers with in place of a text. */
  async #ended(): Promise<{ readonly interrupts: readonly Question[]; readonly made: unknown }> {
    const { tasks, values } = await this.parts.client.threads.getState(this.threadId);
    return { interrupts: questionsOf(tasks), made: madeValue(values) };
  }

  /** Says something; the answer once it is whole. @param signal ends the run @throws NoMessagesError */
  async say(saying: Saying, onHappening: (what: Happening) => void, signal: AbortSignal): Promise<Answer> {
    const { client, assistantId, clock, onDisconnect } = this.parts;
    const begunMs = clock.monotonicMs();
    if ('text' in saying) await this.requireMessages();
    const turn = new Turn(onHappening);
    let runId = '';
    let error: string | null = null;
    const stream = client.runs.stream(this.threadId, assistantId, {
      ...('resume' in saying ? { command: { resume: saying.resume } } : { input: inputOf(saying) }),
      streamMode: ['messages-tuple', 'updates'],
      onDisconnect,
      signal,
      onRunCreated: ({ run_id: id }) => (runId = id),
    });
    for await (const { event, data } of stream) {
      if (event === 'messages') turn.message(data);
      else if (event === 'updates') turn.update(data);
      else if (event === 'error') error = errorOf(data);
    }
    const { interrupts, made } = error === null ? await this.#ended() : { interrupts: [], made: undefined };
    if (turn.answer === '' && interrupts.length === 0 && made !== undefined) turn.answered(made);
    const seconds = (clock.monotonicMs() - begunMs) / 1_000;
    const trace = await this.#trace(runId);
    return {
      thread_id: this.threadId,
      run_id: runId,
      status: error !== null ? 'error' : interrupts.length > 0 ? 'interrupted' : 'success',
      answer: turn.answer,
      error,
      interrupts,
      seconds,
      total_tokens: trace?.total_tokens ?? turn.tokens,
      total_cost: trace?.total_cost ?? null,
      trace_id: trace?.trace_id ?? null,
    };
  }

  /** The stored run; undefined where none arrives in time. */
  async #trace(runId: string): Promise<AnsweredRun | undefined> {
    const { findRun, clock } = this.parts;
    if (findRun === undefined || runId === '') return undefined;
    const untilMs = clock.monotonicMs() + TRACE_MS;
    for (;;) {
      const found = await findRun(runId);
      if ((found && found.status !== 'pending') || clock.monotonicMs() >= untilMs) return found;
      await clock.sleep(LOOK_MS);
    }
  }
}

function inputOf(saying: Exclude<Saying, { readonly resume: unknown }>): JsonObject {
  return 'text' in saying ? { messages: [{ role: 'user', content: saying.text }] } : saying.input;
}

/** Sum of the events of one run. */
class Turn {
  #answer = '';
  #lastId: unknown;
  #tokens: number | null = null;

  constructor(private readonly onHappening: (what: Happening) => void) {}

  /** Text of the last message of the model. */
  get answer(): string {
    return this.#answer.trim();
  }

  /** The values with which a run without a text ended. */
  answered(made: unknown): void {
    const text = JSON.stringify(made, undefined, 2);
    this.#answer = text;
    this.onHappening({ kind: 'text', text });
  }

  /** Tokens of all calls of models; null where none says. */
  get tokens(): number | null {
    return this.#tokens;
  }

  /** A piece of a message as a model makes it. */
  message(data: unknown): void {
    const [chunk] = Array.isArray(data) ? (data as unknown[]) : [];
    if (!isJsonObject(chunk) || !String(chunk['type']).toLowerCase().startsWith('ai')) return;
    const text = contentText(chunk['content']);
    if (text === '') return;
    if (chunk['id'] !== this.#lastId) this.#answer = '';
    this.#lastId = chunk['id'];
    this.#answer += text;
    this.onHappening({ kind: 'text', text });
  }

  /** State that a node wrote: calls of tools, their results, tokens. */
  update(data: unknown): void {
    if (!isJsonObject(data)) return;
    for (const change of Object.values(data)) {
      const messages = isJsonObject(change) ? change['messages'] : undefined;
      for (const message of Array.isArray(messages) ? messages : [messages])
        if (isJsonObject(message)) this.#written(message);
    }
  }

  #written(message: JsonObject): void {
    const { usage_metadata: usage, tool_calls: calls } = message;
    if (message['type'] === 'tool')
      this.onHappening({
        kind: 'result',
        id: String(message['tool_call_id']),
        name: String(message['name'] ?? 'tool'),
        text: contentText(message['content']),
        isError: message['status'] === 'error',
      });
    const tokens = isJsonObject(usage) ? Number(usage['total_tokens']) : NaN;
    if (Number.isFinite(tokens)) this.#tokens = (this.#tokens ?? 0) + tokens;
    for (const call of Array.isArray(calls) ? calls : [])
      if (isJsonObject(call))
        this.onHappening({
          kind: 'tool',
          id: String(call['id']),
          name: String(call['name']),
          args: call['args'],
        });
  }
}

/** The structured response of an agent, or the state of a graph without messages; undefined for other states. */
function madeValue(values: unknown): unknown {
  if (!isJsonObject(values)) return values ?? undefined;
  const { structured_response: response = values['structuredResponse'] } = values;
  if (response !== undefined && response !== null) return response;
  return 'messages' in values || Object.keys(values).length === 0 ? undefined : values;
}

function errorOf(data: unknown): string {
  if (!isJsonObject(data)) return String(data);
  return [data['error'], data['message']].filter((part) => typeof part === 'string').join(': ');
}

/** Characters of a refusal that are read, and shown. */
const MAX_REFUSAL = 10_000;
const MAX_SHOWN = 500;

/** Words in the body with which an agent refused a call; empty when it has none. */
export function refusalWords(body: string): string {
  try {
    const value = parseShort(body.slice(0, MAX_REFUSAL), MAX_REFUSAL);
    const words = isJsonObject(value) ? (value['detail'] ?? value['message']) : undefined;
    return typeof words === 'string' ? words.slice(0, MAX_SHOWN) : '';
  } catch {
    return '';
  }
}

/** Values of a thread: whatever the graph has as its state. */
export type ThreadValues = Readonly<Record<string, unknown>>;

/** Threads that changed last; without their values where these are larger than a page can show. */
export async function newestThreads(client: Client, limit: number): Promise<Thread<ThreadValues>[]> {
  const search = { limit, sortBy: 'updated_at', sortOrder: 'desc' } as const;
  try {
    return await client.threads.search<ThreadValues>(search);
  } catch (error) {
    if (!(error instanceof PublicError) || error.code !== 'too_large') throw error;
    return await client.threads.search<ThreadValues>({
      ...search,
      select: ['thread_id', 'status', 'updated_at'],
    });
  }
}

/** Assistants that a person may choose from. */
const MOST_ASSISTANTS = 100;

/**
 * Graphs and assistants of an agent, the oldest first: the graphs' own come before those that were made. None of an agent
 * that has switched their routes off.
 */
export async function assistantsOf(client: Client, limit = MOST_ASSISTANTS): Promise<readonly Assistant[]> {
  try {
    return await client.assistants.search({ limit, sortBy: 'created_at', sortOrder: 'asc' });
  } catch (error) {
    if (isJsonObject(error) && error['status'] === 404) return [];
    throw error;
  }
}

/** @throws PublicError conflict for an agent without graphs */
async function firstAssistant(client: Client): Promise<Assistant> {
  const [first] = await assistantsOf(client, 1);
  if (!first) throw new PublicError('conflict', 'The agent has no graphs: its langgraph.json names none');
  return first;
}

/**
 * Begins a thread that remembers with whom it talks.
 * @param assistant id; empty for the agent's first graph
 * @returns the id of the thread
 */
export async function beginThread(client: Client, assistant: string): Promise<string> {
  const chosen = assistant === '' ? await firstAssistant(client) : await client.assistants.get(assistant);
  const { assistant_id, graph_id } = chosen;
  // the client writes graph_id of the metadata by graphId
  const thread = await client.threads.create({ metadata: { assistant_id }, graphId: graph_id });
  return thread.thread_id;
}

/** The id of the assistant that a thread talks with: the one that it was begun or run with, else the agent's first. */
export async function assistantOfThread(client: Client, threadId: string): Promise<string> {
  const { metadata } = await client.threads.get(threadId);
  const id: unknown = metadata?.['assistant_id'];
  return typeof id === 'string' ? id : (await firstAssistant(client)).assistant_id;
}
