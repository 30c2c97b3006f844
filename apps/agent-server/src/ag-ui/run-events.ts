import { jsonEquals, type JsonObject, isJsonObject, parseShort } from '#lib/json';
import { contentText } from '../a2a/answer-text.js';
import type { LoggedEvent } from '../log/logged-event.js';
import { PacedReader } from '../run/paced-reader.js';
import { pageMessageOf, toolCallsOf } from './messages.js';

function pointer(key: string): string {
  return `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/** Items that a list has beyond an earlier form of it; undefined when it differs otherwise. */
function added(before: unknown, now: unknown): readonly unknown[] | undefined {
  if (!Array.isArray(before) || !Array.isArray(now) || now.length <= before.length) return undefined;
  return before.every((item, at) => jsonEquals(item, now[at])) ? now.slice(before.length) : undefined;
}

/** The difference of two states as operations of JSON Patch, one for each member or added item. */
function stateDelta(before: JsonObject, now: JsonObject): readonly JsonObject[] {
  const removed = Object.keys(before)
    .filter((key) => !Object.hasOwn(now, key))
    .map((key) => ({ op: 'remove', path: pointer(key) }));
  const changed = Object.entries(now).flatMap(([key, value]): JsonObject[] => {
    if (!Object.hasOwn(before, key)) return [{ op: 'add', path: pointer(key), value }];
    if (jsonEquals(before[key], value)) return [];
    const items = added(before[key], value);
    return items
      ? items.map((item) => ({ op: 'add', path: `${pointer(key)}/-`, value: item }))
      : [{ op: 'replace', path: pointer(key), value }];
  });
  return [...removed, ...changed];
}

/** Larger pieces are left out, and named: every reader would parse them. */
const MAX_PARSED_BYTES = 1024 * 1024;

export interface RunEventParts {
  readonly threadId: string;
  readonly runId: string;
  /** Members of the page's state that the graph does not take. */
  readonly ignored: readonly string[];
  readonly emit: (event: JsonObject) => void;
  /** True when the client takes more; otherwise `more` is to be called when it does. */
  readonly hasRoom: () => boolean;
  readonly ended: () => void;
}

const LOST = 'What comes next in this output is no longer kept; run again';

/**
 * The output of a run as events of AG-UI: the run's start, messages and calls of tools as they grow, the state
 * as a snapshot and then as differences, all messages, and how the run ended. Another attempt of the run begins
 * with a snapshot again; the messages at the end replace what its earlier attempts showed.
 */
export class RunEvents extends PacedReader {
  readonly #openMessages = new Set<string>();
  /** Calls of tools that grow, by their message and index. */
  readonly #openCalls = new Map<string, string>();
  readonly #seen = new Set<string>();
  #state: JsonObject | undefined;
  #messages: readonly unknown[] | undefined;
  #interrupts: readonly unknown[] = [];
  #error: JsonObject | undefined;

  constructor(private readonly parts: RunEventParts) {
    super(parts.hasRoom);
  }

  /** Begins the events; the output waits for it. */
  begin(): void {
    const { threadId, runId, ignored } = this.parts;
    this.#emit('RUN_STARTED', { threadId, runId, protocolVersion: '1.0' });
    if (ignored.length > 0) this.#emit('CUSTOM', { name: 'ignored_state', value: ignored });
    this.beginOutput();
  }

  protected take(logged: LoggedEvent): void {
    if (logged.event === 'metadata') return this.#began();
    if (!['messages', 'values', 'custom', 'error'].includes(logged.event)) return;
    if (logged.bytes > MAX_PARSED_BYTES) {
      this.#emit('CUSTOM', { name: 'left_out', value: { event: logged.event, bytes: logged.bytes } });
      return;
    }
    const data = parseShort(logged.data, MAX_PARSED_BYTES);
    if (logged.event === 'messages') this.#message(Array.isArray(data) ? data[0] : undefined);
    else if (logged.event === 'values') this.#values(data);
    else if (logged.event === 'custom') this.#custom(data);
    else if (isJsonObject(data)) this.#error = data;
  }

  /** An attempt begins: the output of an earlier one comes anew. */
  #began(): void {
    this.#closeAll();
    this.#seen.clear();
    this.#state = undefined;
    this.#interrupts = [];
  }

  #message(message: unknown): void {
    if (!isJsonObject(message) || typeof message['id'] !== 'string') return;
    const { id, type } = message;
    if (type === 'tool') return this.#toolResult(message);
    if (type !== 'ai' && type !== 'AIMessageChunk') return;
    const isWhole = type === 'ai' && !Array.isArray(message['tool_call_chunks']);
    if (isWhole && this.#seen.has(id)) return;
    this.#seen.add(id);
    this.#text(id, contentText(message['content']));
    const { tool_call_chunks: chunks } = message;
    if (Array.isArray(chunks) && chunks.length > 0) this.#callChunks(id, chunks);
    else for (const call of toolCallsOf(message)) this.#wholeCall(id, call);
    if (isWhole) this.#closeMessage(id);
  }

  #text(messageId: string, delta: string): void {
    if (delta === '') return;
    if (!this.#openMessages.has(messageId)) {
      this.#openMessages.add(messageId);
      this.#emit('TEXT_MESSAGE_START', { messageId, role: 'assistant' });
    }
    this.#emit('TEXT_MESSAGE_CONTENT', { messageId, delta });
  }

  #wholeCall(parentMessageId: string, { id, name, args }: JsonObject): void {
    if (typeof id !== 'string' || typeof name !== 'string' || this.#seen.has(id)) return;
    this.#seen.add(id);
    this.#emit('TOOL_CALL_START', { toolCallId: id, toolCallName: name, parentMessageId });
    this.#emit('TOOL_CALL_ARGS', { toolCallId: id, delta: JSON.stringify(args ?? {}) });
    this.#emit('TOOL_CALL_END', { toolCallId: id });
  }

  #callChunks(parentMessageId: string, chunks: readonly unknown[]): void {
    for (const chunk of chunks.filter(isJsonObject)) {
      const { id, name, args } = chunk;
      const key = `${parentMessageId} ${String(chunk['index'] ?? 0)}`;
      if (typeof id === 'string' && typeof name === 'string' && this.#openCalls.get(key) !== id) {
        this.#closeCall(key);
        this.#openCalls.set(key, id);
        this.#seen.add(id);
        this.#emit('TOOL_CALL_START', { toolCallId: id, toolCallName: name, parentMessageId });
      }
      const toolCallId = this.#openCalls.get(key);
      if (toolCallId !== undefined && typeof args === 'string' && args !== '')
        this.#emit('TOOL_CALL_ARGS', { toolCallId, delta: args });
    }
  }

  #toolResult({ id: messageId, tool_call_id: toolCallId, content }: JsonObject): void {
    if (typeof messageId !== 'string' || typeof toolCallId !== 'string' || this.#seen.has(messageId)) return;
    this.#seen.add(messageId);
    this.#closeAll();
    this.#emit('TOOL_CALL_RESULT', { messageId, toolCallId, content: contentText(content), role: 'tool' });
  }

  #custom(value: unknown): void {
    const name = isJsonObject(value) && typeof value['name'] === 'string' ? value['name'] : 'custom';
    this.#emit('CUSTOM', { name, value });
  }

  #values(values: unknown): void {
    if (!isJsonObject(values)) return;
    const { messages, __interrupt__: interrupts, ...state } = values;
    if (Array.isArray(interrupts)) this.#interrupts = interrupts;
    if (Array.isArray(messages)) this.#messages = messages;
    // an interrupt may come alone
    if (Array.isArray(interrupts) && Object.keys(state).length === 0) return;
    if (this.#state) {
      const delta = stateDelta(this.#state, state);
      if (delta.length > 0) this.#emit('STATE_DELTA', { delta });
    } else this.#emit('STATE_SNAPSHOT', { snapshot: state });
    this.#state = state;
  }

  #closeMessage(messageId: string): void {
    if (this.#openMessages.delete(messageId)) this.#emit('TEXT_MESSAGE_END', { messageId });
  }

  #closeCall(key: string): void {
    const toolCallId = this.#openCalls.get(key);
    if (toolCallId === undefined) return;
    this.#openCalls.delete(key);
    this.#emit('TOOL_CALL_END', { toolCallId });
  }

  #closeAll(): void {
    for (const key of this.#openCalls.keys()) this.#closeCall(key);
    for (const id of this.#openMessages) this.#closeMessage(id);
  }

  protected finish(isLost: boolean): void {
    this.#closeAll();
    const { threadId, runId } = this.parts;
    if (this.#messages) {
      const messages = this.#messages.flatMap((message, at) => pageMessageOf(message, at) ?? []);
      this.#emit('MESSAGES_SNAPSHOT', { messages });
    }
    const error = this.#error;
    if (isLost) this.#emit('RUN_ERROR', { message: LOST, code: 'OutputLost' });
    else if (error && error['error'] !== 'UserInterrupt')
      this.#emit('RUN_ERROR', { message: String(error['message']), code: String(error['error']) });
    else this.#emit('RUN_FINISHED', { threadId, runId, outcome: this.#outcome() });
    this.parts.ended();
  }

  #outcome(): JsonObject {
    if (this.#error) return { type: 'cancelled' };
    const interrupts = this.#interrupts.filter(isJsonObject).map(interruptOf);
    return interrupts.length > 0 ? { type: 'interrupt', interrupts } : { type: 'success' };
  }

  #emit(type: string, members: JsonObject): void {
    this.parts.emit({ type, ...members });
  }
}

/** A question of a graph, its value in the metadata. */
function interruptOf({ id, value, response_schema: schema }: JsonObject, at: number): JsonObject {
  return {
    id: typeof id === 'string' ? id : `interrupt-${at}`,
    reason: 'input_required',
    ...(typeof value === 'string' ? { message: value } : {}),
    ...(isJsonObject(schema) ? { responseSchema: schema } : {}),
    metadata: { value },
  };
}
