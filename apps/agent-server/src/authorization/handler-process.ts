import { PublicError } from '#lib/errors';
import { isJsonObject, parseShort, type JsonObject, type MutableJsonObject } from '#lib/json';
import { endSilent } from '../hosting/end-silent.js';
import { GraphProcess, type GraphProcessParts } from '../hosting/graph-process.js';
import { Seat } from '../hosting/seat.js';
import type { AskedQuestions } from '../protocol/questions.js';
import type { AuthHandlers, AuthorizationCall } from './auth-handlers.js';
import { AuthRefusal, refusalOf, tokenRefusal } from './auth-refusal.js';

const NAME = 'process of the authentication handlers';

/** A process that was not heard of for so long computes: a request does not wait for it. */
const SILENT_MS = 5_000;

/** Of an answer: a handler may have changed what is asked for, which is as large as a request. */
const MAX_ANSWER_CHARS = 128 * 1024 * 1024;

/** What a process answers: a handler's own answer, its refusal, or that it failed. */
type Answered =
  | { readonly kind: 'answered'; readonly answer: unknown; readonly value?: JsonObject }
  | {
      readonly kind: 'refused';
      readonly status: number;
      readonly detail: string;
      readonly headers: JsonObject;
    }
  | { readonly kind: 'token' }
  | { readonly kind: 'failed'; readonly name: string; readonly message: string; readonly stack: string };

type HandlerProcessParts = Omit<GraphProcessParts, 'name' | 'keeper' | 'onLoad'>;

/**
 * Handlers of an agent in a process of their own, which another replaces when it ends. Whatever happens to it, a request
 * that it does not judge is refused.
 */
export class HandlerProcess {
  readonly #seat: Seat<GraphProcess>;

  /** Starts loading. */
  constructor(parts: HandlerProcessParts) {
    // handlers ask for no state
    const keeper = new Promise<never>(() => undefined);
    this.#seat = new Seat({
      ...parts,
      name: NAME,
      make: () => new GraphProcess({ ...parts, name: NAME, keeper }),
      onReady: (process) => endSilent(process, { ...parts, name: NAME }),
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
      authenticate: authenticates ? (request, params) => this.#authenticate(request, params) : undefined,
      callbacks: new Map(
        events.map((handler) => [handler, (call, signal) => this.#authorize(handler, call, signal)]),
      ),
    };
  }

  describeLoad(): string | undefined {
    return this.#seat.describeLoad();
  }

  /** What is wrong with the process while the server goes on; undefined while all is well. */
  get note(): string | undefined {
    const { ready, trouble } = this.#seat;
    return ready && ready.silentMs > SILENT_MS ? silenceOf(ready) : trouble;
  }

  async stop(): Promise<void> {
    await this.#seat.stop();
  }

  async #authenticate(request: Request, params: JsonObject): Promise<unknown> {
    const { method, url, headers, signal } = request;
    const { answer } = await this.#judged(
      'authenticate',
      { method, url, headers: [...headers], params },
      signal,
    );
    return answer;
  }

  async #authorize(handler: string, call: AuthorizationCall, signal: AbortSignal): Promise<unknown> {
    const { event, user, value } = call;
    const { answer, value: left } = await this.#judged('authorize', { event, handler, user, value }, signal);
    if (left) replace(value, left);
    return answer;
  }

  async #judged<K extends 'authenticate' | 'authorize'>(
    kind: K,
    question: AskedQuestions[K],
    signal: AbortSignal,
  ): Promise<Extract<Answered, { kind: 'answered' }>> {
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
        // never let through: what is no answer judges nobody
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
    const answer = parseShort(await process.ask(kind, question, signal), MAX_ANSWER_CHARS);
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

/** Has an object hold what another holds: whoever has it finds there what a handler left. */
function replace(value: JsonObject, left: JsonObject): void {
  const into = value as MutableJsonObject;
  for (const name of Object.keys(into)) delete into[name];
  for (const [name, one] of Object.entries(left))
    Object.defineProperty(into, name, { value: one, writable: true, enumerable: true, configurable: true });
}
