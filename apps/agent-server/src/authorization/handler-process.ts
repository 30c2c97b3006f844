import { Admission } from '#lib/admission';
import { PublicError } from '#lib/errors';
import { isJsonObject, type JsonObject, type MutableJsonObject, parseShort } from '#lib/json';
import type { Clock } from '#lib/time';
import { endSilent } from '../hosting/child.js';
import { GraphProcess, type GraphProcessParts } from '../hosting/graph-process.js';
import { Seat } from '../hosting/seat.js';
import { type Sent, wellFormed } from '../protocol/frame.js';
import type { AccessQuestion, AskedQuestions } from '../protocol/questions.js';
import type { AskedRoute, AuthHandlers, AuthorizationCall } from './auth-handlers.js';
import { AuthRefusal, refusalOf, tokenRefusal } from './auth-user.js';

/** Time after which a question lets the next one start: it waits for something else. */
const TURN_MS = 2_000;

/**
 * Lets large questions to one process proceed one after another: each is held as several texts there, and
 * computes in the one loop that judges all requests. Small ones proceed between them; callers are served
 * round-robin.
 */
export class LargeTurns {
  readonly #admission = new Admission({ capacity: 1 });

  constructor(private readonly clock: Clock) {}

  /**
   * Performs a question after those before it.
   * @param ask is called in its turn, which ends with its answer, when it is aborted, or after two seconds
   * @throws the reason of the signal when it was aborted before its turn
   */
  async perform<T>(caller: string, ask: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const place = await this.#admission.enter(caller, { signal });
    const cancel = this.clock.after(TURN_MS, place.release);
    signal.addEventListener('abort', place.release, { once: true });
    try {
      signal.throwIfAborted();
      return await ask();
    } finally {
      cancel();
      place.release();
    }
  }
}

/**
 * Returns true when a JSON value is longer than so many characters, or nearly so, without making its text.
 */
export function isLongerThan(value: unknown, most: number): boolean {
  let left = most;
  const waiting: unknown[] = [value];
  while (left >= 0 && waiting.length > 0) {
    const one = waiting.pop();
    left -= typeof one === 'string' ? one.length + 2 : 2;
    if (typeof one !== 'object' || one === null) continue;
    if (Array.isArray(one)) {
      if (one.length > left) return true;
      for (const item of one as readonly unknown[]) waiting.push(item);
      continue;
    }
    for (const name in one) {
      left -= name.length + 3;
      if (left < 0) break;
      waiting.push(Reflect.get(one, name));
    }
  }
  return left < 0;
}

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
