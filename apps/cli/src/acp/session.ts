import { isJsonObject, type JsonObject } from '#lib/json';
import {
  actionsOf,
  actionText,
  contentText,
  type Conversation,
  type Happening,
  type Question,
  questionText,
  resumeAll,
  resumeOf,
  type Saying,
} from '#lib/conversation';
import { CODE, type JsonRpcLines, RpcError } from './json-rpc-lines.js';

const APPROVE = { optionId: 'approve', name: 'Approve', kind: 'allow_once' };
const REJECT = { optionId: 'reject', name: 'Reject', kind: 'reject_once' };
const YES = { optionId: 'yes', name: 'Yes', kind: 'allow_once' };
const NO = { optionId: 'no', name: 'No', kind: 'reject_once' };
const LATER = { optionId: 'later', name: 'Answer with my next message', kind: 'reject_once' };

/** Choice of a person; `later` also where the editor closed the question. */
type Choice = 'approve' | 'reject' | 'yes' | 'no' | 'later';

function textBlock(text: string): JsonObject {
  return { type: 'text', text };
}

function toolContent(text: string): readonly JsonObject[] {
  return [{ type: 'content', content: textBlock(text) }];
}

/** A thread of an agent as a session of an editor. One prompt is worked on at a time. */
export class Session {
  /** The last call of each tool, which a question about it refers to. */
  readonly #calls = new Map<string, string>();
  #working: AbortController | undefined;

  constructor(
    readonly conversation: Conversation,
    private readonly editor: Pick<JsonRpcLines, 'notify' | 'request'>,
  ) {}

  get id(): string {
    return this.conversation.threadId;
  }

  cancel(): void {
    this.#working?.abort(new Error('cancelled'));
  }

  /** Works on a prompt until the agent has answered or waits for the person. @throws RpcError */
  async prompt(prompt: unknown): Promise<JsonObject> {
    if (this.#working) throw new RpcError(CODE.invalidRequest, 'the session works on another prompt');
    const content = contentOf(prompt);
    const working = (this.#working = new AbortController());
    try {
      return await this.#work(content, working.signal);
    } catch (error) {
      if (working.signal.aborted) return { stopReason: 'cancelled' };
      throw error;
    } finally {
      this.#working = undefined;
    }
  }

  async #work(content: string | readonly JsonObject[], signal: AbortSignal): Promise<JsonObject> {
    const asked = await this.conversation.waitsWith();
    let saying: Saying | undefined = { text: content };
    if (asked.length > 0) saying = await this.#answer(asked, textOf(content));
    while (saying) {
      const answer = await this.conversation.say(saying, (what) => this.#happens(what), signal);
      if (signal.aborted) return { stopReason: 'cancelled' };
      if (answer.error !== null) throw new RpcError(CODE.internal, answer.error);
      if (answer.interrupts.length === 0) break;
      saying = await this.#answer(answer.interrupts, undefined);
      if (signal.aborted) return { stopReason: 'cancelled' };
    }
    return { stopReason: 'end_turn' };
  }

  /** Answers to everything that the agent asks. @returns undefined when a person answers later */
  async #answer(asked: readonly Question[], text: string | undefined): Promise<Saying | undefined> {
    const answers: unknown[] = [];
    for (const [at, question] of asked.entries()) {
      const answer = at === 0 && text !== undefined ? answerOf(question, text) : await this.#ask(question);
      if (answer === undefined) return undefined;
      answers.push(answer);
    }
    return { resume: resumeAll(asked, answers) };
  }

  async #ask({ id, value }: Question): Promise<unknown> {
    const actions = actionsOf(value);
    if (actions.length === 0) {
      const choice = await this.#choose(id, questionText(value), undefined, [YES, NO, LATER]);
      if (choice === 'later')
        this.#update('agent_message_chunk', { content: textBlock(questionText(value)) });
      return choice === 'later' ? undefined : choice;
    }
    const decisions: JsonObject[] = [];
    for (const [at, action] of actions.entries()) {
      const { name, args, arguments: other } = action;
      const callId = this.#calls.get(String(name)) ?? `${id}-${at}`;
      const choice = await this.#choose(callId, actionText(action), args ?? other, [APPROVE, REJECT]);
      if (choice === 'later') return undefined;
      decisions.push({ type: choice });
    }
    return { decisions };
  }

  async #choose(
    toolCallId: string,
    title: string,
    rawInput: unknown,
    options: readonly JsonObject[],
  ): Promise<Choice> {
    const toolCall = {
      toolCallId,
      title,
      status: 'pending',
      ...(rawInput === undefined ? {} : { rawInput }),
    };
    const { outcome } = await this.editor.request('session/request_permission', {
      sessionId: this.id,
      toolCall,
      options,
    });
    const chosen = isJsonObject(outcome) && outcome['outcome'] === 'selected' ? outcome['optionId'] : 'later';
    return options.some(({ optionId }) => optionId === chosen) ? (chosen as Choice) : 'later';
  }

  #happens(what: Happening): void {
    switch (what.kind) {
      case 'text':
        return this.#update('agent_message_chunk', { content: textBlock(what.text) });
      case 'tool':
        this.#calls.set(what.name, what.id);
        return this.#update('tool_call', {
          toolCallId: what.id,
          title: what.name,
          kind: 'other',
          status: 'in_progress',
          rawInput: what.args,
        });
      case 'result':
        return this.#update('tool_call_update', {
          toolCallId: what.id,
          status: what.isError ? 'failed' : 'completed',
          content: toolContent(what.text),
        });
      default:
        return what satisfies never;
    }
  }

  /** Shows what was said in the thread before. */
  replay(messages: readonly unknown[]): void {
    for (const message of messages.filter(isJsonObject)) {
      const { type, content, tool_calls: calls } = message;
      const text = contentText(content);
      if (type === 'human') this.#update('user_message_chunk', { content: textBlock(text) });
      else if (type === 'ai' && text !== '') this.#happens({ kind: 'text', text });
      for (const call of Array.isArray(calls) ? calls.filter(isJsonObject) : [])
        this.#happens({
          kind: 'tool',
          id: String(call['id']),
          name: String(call['name']),
          args: call['args'],
        });
      if (type === 'tool') this.#happens(resultOf(message, text));
    }
  }

  #update(sessionUpdate: string, update: JsonObject): void {
    this.editor.notify('session/update', { sessionId: this.id, update: { sessionUpdate, ...update } });
  }
}

function resultOf({ tool_call_id: id, name, status }: JsonObject, text: string): Happening {
  return { kind: 'result', id: String(id), name: String(name), text, isError: status === 'error' };
}

/** The answer that words are: who answers a call of a tool with words does not approve it. */
function answerOf({ value }: Question, text: string): unknown {
  const actions = actionsOf(value);
  if (actions.length === 0) return resumeOf(text);
  return { decisions: actions.map(() => ({ type: 'reject', message: text })) };
}

function refused(found: string): RpcError {
  return new RpcError(CODE.invalidParams, `prompt: ${found}`);
}

function blockOf(block: unknown): JsonObject {
  if (!isJsonObject(block)) throw refused('each part must be an object');
  const { type, text, uri, name, data, mimeType, resource } = block;
  if (type === 'text' && typeof text === 'string') return { type, text };
  if (type === 'resource_link') return { type: 'text', text: `[${String(name ?? uri)}](${String(uri)})` };
  if ((type === 'image' || type === 'audio') && typeof data === 'string')
    return { type, source_type: 'base64', data, mime_type: mimeType };
  if (type !== 'resource' || !isJsonObject(resource))
    throw refused(`parts of type ${String(type)} are not taken`);
  const { uri: place, text: content, blob, mimeType: kind } = resource;
  if (typeof content === 'string') return { type: 'text', text: `${String(place)}:\n${content}` };
  if (typeof blob !== 'string') throw refused('a resource must have text or blob');
  const mime_type = typeof kind === 'string' ? kind : 'application/octet-stream';
  return {
    type: 'file',
    source_type: 'base64',
    data: blob,
    mime_type,
    metadata: { filename: String(place) },
  };
}

/** A prompt as content of a message: one text as it is, other parts as blocks. @throws RpcError */
function contentOf(prompt: unknown): string | readonly JsonObject[] {
  if (!Array.isArray(prompt) || prompt.length === 0) throw refused('must be a list of parts');
  const blocks = prompt.map(blockOf);
  const [first] = blocks;
  return blocks.length === 1 && typeof first?.['text'] === 'string' ? first['text'] : blocks;
}

/** Text of a prompt, where a question is to be answered. */
function textOf(content: string | readonly JsonObject[]): string {
  if (typeof content === 'string') return content;
  return content.map(({ text }) => (typeof text === 'string' ? text : '')).join('');
}
