import { systemClock } from '#lib/time';
import { quantile } from './quantile.js';

/** One kind of request to an agent. */
interface Kind {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: unknown;
}

const KINDS: readonly Kind[] = [
  { method: 'GET', path: '/ok' },
  { method: 'GET', path: '/info' },
  { method: 'POST', path: '/assistants/search', body: {} },
  { method: 'POST', path: '/threads', body: {} },
  { method: 'POST', path: '/runs/wait', body: { assistant_id: 'single', input: {} } },
];

/** What callers asked, and what they did not get. */
export interface LoadSeen {
  readonly asked: number;
  readonly failures: readonly string[];
  readonly p50Ms: number;
  readonly slowestMs: number;
}

/** Callers that send requests of all kinds to an agent, one after another, none of them again: each must be answered. */
export class RequestLoad {
  readonly #tookMs: number[] = [];
  readonly #failures: string[] = [];
  readonly #callers: readonly Promise<void>[];
  #isOver = false;

  /** @param pauseMs of each caller between two requests */
  constructor(
    private readonly url: string,
    private readonly headers: Readonly<Record<string, string>>,
    { callers, pauseMs }: { readonly callers: number; readonly pauseMs: number },
  ) {
    this.#callers = Array.from({ length: callers }, (_none, at) => this.#call(at, pauseMs));
  }

  get asked(): number {
    return this.#tookMs.length;
  }

  async stop(): Promise<LoadSeen> {
    this.#isOver = true;
    await Promise.all(this.#callers);
    return {
      asked: this.asked,
      failures: this.#failures,
      p50Ms: quantile(this.#tookMs, 0.5),
      slowestMs: Math.max(...this.#tookMs),
    };
  }

  async #call(first: number, pauseMs: number): Promise<void> {
    for (let at = first; !this.#isOver; at++) {
      const kind = KINDS[at % KINDS.length];
      if (kind) await this.#ask(kind);
      await systemClock.sleep(pauseMs);
    }
  }

  async #ask({ method, path, body }: Kind): Promise<void> {
    const began = performance.now();
    const at = new Date().toISOString();
    try {
      const answer = await fetch(this.url + path, {
        method,
        headers: { ...this.headers, ...(body ? { 'content-type': 'application/json' } : {}) },
        ...(body ? { body: JSON.stringify(body) } : {}),
      });
      const text = await answer.text();
      if (answer.status !== 200) this.#failures.push(`${at} ${method} ${path}: ${answer.status} ${text}`);
    } catch (error) {
      const cause = error instanceof Error && error.cause !== undefined ? `: ${String(error.cause)}` : '';
      this.#failures.push(`${at} ${method} ${path}: ${String(error)}${cause}`);
    }
    this.#tookMs.push(performance.now() - began);
  }
}
