import { PublicError } from '#lib/errors';
import { isJsonObject, parseShort, type JsonObject, type MutableJsonObject } from '#lib/json';
import { endSilent } from '../hosting/end-silent.js';
import { GraphProcess, type GraphProcessParts } from '../hosting/graph-process.js';
import { Seat } from '../hosting/seat.js';
import type { Sent } from '../protocol/frame.js';
import type { AccessQuestion, AskedQuestions } from '../protocol/questions.js';
import { wellFormed } from '../protocol/well-formed.js';
import type { AskedRoute, AuthHandlers, AuthorizationCall } from './auth-handlers.js';
import { AuthRefusal, refusalOf, tokenRefusal } from './auth-refusal.js';
import { isLongerThan, LargeTurns } from './large-turns.js';

const NAME = 'process of the authentication handlers';

/** A process that was not heard of for so long computes: a request does not wait for it. */
const SILENT_MS = 5_000;

/** Limit per answer: a handler may have changed the value of its request, which is as large as a request. */
const MAX_ANSWER_BYTES = 128 * 2 ** 20;

/** Characters of a question from which on it waits for other large ones. */
const LARGE_CHARS = 2 ** 20;

/** Members that a handler left in another way than it found them. */
interface Left {
  readonly changed: JsonObject;
  readonly removed: readonly string[];
  /** The same of the member `kwargs`, which is large. */
  readonly kwargs?: Left;
}

/** Answer of a process: a handler's own answer, its refusal, or that it failed. */
type Answered =
  | { readonly kind: 'answered'; readonly answer: unknown; readonly left?: Left }
  | {
      readonly kind: 'refused';
      readonly status: number;
      readonly detail: string;
      readonly headers: JsonObject;
    }
  | { readonly kind: 'token' }
  | { readonly kind: 'failed'; readonly name: string; readonly message: string; readonly stack: string };

type JudgedBy = Extract<Answered, { kind: 'answered' }>;

type HandlerProcessParts = Omit<GraphProcessParts, 'name' | 'keeper' | 'onLoad'>;

/**
 * Handlers of an agent in a separate process, which another replaces when it ends. In any failure of the
 * process, a request that it does not judge is refused.
 */
export class HandlerProcess {
  readonly #seat: Seat<GraphProcess>;
  readonly #largeTurns: LargeTurns;

  /** Starts loading. */
  constructor({ order, ...given }: HandlerProcessParts) {
    // the process checks its answers by that: one that is too long is its caller's trouble alone
    const parts = { ...given, order: { ...order, maxTextBytes: MAX_ANSWER_BYTES } };
    this.#largeTurns = new LargeTurns(parts.clock);
    this.#seat = new Seat({
      ...parts,
      name: NAME,
      make: () => new GraphProcess({ ...parts, name: NAME, textsOfFrame: 1 }),
      onReady: (process) =>
        endSilent(process, { ...parts, name: NAME, stuckMs: () => process.threads.stuckMs }),
    });
  }

  /** @throws TerminalError (`GraphLoadFailed`) */
  async load(): Promise<AuthHandlers> {
    await this.#seat.firstLoad;
    const { authenticates, events } = (await this.#ask('handlers', {})) as {
      authenticates: boolean;
      events: readonly string[];
    };
    return {
      authenticate: authenticates
        ? (request, route, signal) => this.#authenticate(request, route, signal)
        : undefined,
      callbacks: new Map(
        events.map((handler) => [
          handler,
          (call, signal, isStudio) => this.#authorize({ handler, isStudio }, call, signal),
        ]),
      ),
    };
  }

  describeLoad(): string | undefined {
    return this.#seat.describeLoad();
  }

  /** Problem of the process while the server continues; undefined while all is well. */
  get note(): string | undefined {
    const { ready, trouble } = this.#seat;
    if (ready && ready.silentMs > SILENT_MS) return silenceOf(ready);
    const stuck = ready?.threads.describeStuck('plain functions');
    return stuck === undefined ? trouble : `${NAME}: ${stuck}`;
  }

  async stop(): Promise<void> {
    await this.#seat.stop();
  }

  async #authenticate(
    { method, url, headers }: Request,
    { target, params }: AskedRoute,
    signal: AbortSignal,
  ): Promise<unknown> {
    const asked = { method, base: new URL(url).origin, target, headers: [...headers], params };
    const { answer } = await this.#judged('authenticate', asked, signal);
    return answer;
  }

  async #authorize(
    decides: Pick<AccessQuestion, 'handler' | 'isStudio'>,
    call: AuthorizationCall,
    signal: AbortSignal,
  ): Promise<unknown> {
    const { event, user, value } = call;
    const judge = (): Promise<JudgedBy> =>
      this.#judged('authorize', { event, ...decides, user, value }, signal);
    const { answer, left } = await (isLongerThan(value, LARGE_CHARS)
      ? this.#largeTurns.perform(String(user['identity']), judge, signal)
      : judge());
    if (left) takeOver(value, left);
    return answer;
  }

  async #judged<K extends 'authenticate' | 'authorize'>(
    kind: K,
    question: AskedQuestions[K],
    signal: AbortSignal,
  ): Promise<JudgedBy> {
    const found = (await this.#ask(kind, question, signal)) as Answered;
    switch (found.kind) {
      case 'answered':
        return found;
      case 'refused':
        throw refusalOf({ ...found, message: found.detail }) ?? new AuthRefusal(403, found.detail);
      case 'token':
        throw tokenRefusal();
      case 'failed':
        throw Object.assign(new Error(found.message), { name: found.name, stack: found.stack });
      default:
        // never let through: an unknown answer judges no request
        throw new Error(`the ${NAME} answered ${JSON.stringify(found satisfies never)}`);
    }
  }

  async #ask<K extends keyof AskedQuestions>(
    kind: K,
    question: AskedQuestions[K],
    signal?: AbortSignal,
  ): Promise<unknown> {
    const process = this.#seat.ready;
    if (!process) throw unavailable('unavailable, as their process is being started');
    if (process.silentMs > SILENT_MS) throw unavailable(`unavailable (${silenceOf(process)})`);
    // unchanged values are not sent back: nothing of the request is lost
    const makeText = (): Sent => wellFormed(JSON.stringify(question));
    const answer = parseShort(await process.askText(kind, makeText, signal), MAX_ANSWER_BYTES);
    if (!isJsonObject(answer)) throw new Error(`the ${NAME} answered no object`);
    return answer;
  }
}

function silenceOf({ silentMs }: GraphProcess): string {
  return `the ${NAME} has not answered for ${Math.floor(silentMs / 1000)} s; its log names the line that it executes`;
}

function unavailable(how: string): PublicError {
  const message = `The handlers that judge callers of this agent are ${how}; retry`;
  return new PublicError('unavailable', message, [], { retryAfterSeconds: 1 });
}

/** Applies to an object the changes that a handler made to its copy, so that its holders see them. */
function takeOver(value: JsonObject, { changed, removed, kwargs }: Left): void {
  const into = value as MutableJsonObject;
  for (const name of removed) delete into[name];
  for (const [name, one] of Object.entries(changed))
    Object.defineProperty(into, name, { value: one, writable: true, enumerable: true, configurable: true });
  if (kwargs && isJsonObject(value['kwargs'])) takeOver(value['kwargs'], kwargs);
}
