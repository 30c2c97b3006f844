import { randomUUID } from 'node:crypto';
import type { Client } from '@langchain/langgraph-sdk';
import { systemClock } from '#lib/time';
import type { EnqueuedRun } from './enqueued-run.js';
import type { Rest } from './rest.js';

/** Of each caller, so that what is under test has processors too. */
const PAUSE_MS = 100;
const RUNS_A_THREAD = 3;

interface Message {
  readonly content: string;
}

/** A request that failed. */
export interface Failure {
  readonly what: string;
  readonly beganAt: string;
  readonly error: string;
}

/** What callers asked for while something else happened, and what they got. */
export interface LoadReport {
  readonly asked: Readonly<Record<string, number>>;
  readonly failures: readonly Failure[];
  /** Of all requests of a kind. */
  readonly slowestMs: Readonly<Record<string, number>>;
  /** Runs of traces that POST /runs/batch acknowledged. */
  readonly ingested: readonly string[];
  /** Runs of the agent that were acknowledged before they were done. */
  readonly enqueued: readonly EnqueuedRun[];
  /** Where those runs are. */
  readonly agent: Client;
}

/** Callers that read, send traces, run an agent, stream it and enqueue runs, one request after another, until `stop`. */
export class SteadyLoad {
  readonly #asked: Record<string, number> = {};
  readonly #failures: Failure[] = [];
  readonly #slowestMs: Record<string, number> = {};
  readonly #ingested: string[] = [];
  readonly #enqueued: EnqueuedRun[] = [];
  readonly #callers: Promise<void>[];
  /** When the last request of a kind ended that failed, and the last that did not; by performance.now(). */
  readonly #failedAt: Record<string, number> = {};
  readonly #servedAt: Record<string, number> = {};
  #isOver = false;

  /**
   * @param project that traces go to
   * @param pauseMs of each caller between two requests
   */
  constructor(
    private readonly rest: Rest,
    private readonly agent: Client,
    private readonly project: string,
    private readonly pauseMs = PAUSE_MS,
  ) {
    this.#callers = [
      this.#repeat('read', () => this.#read()),
      this.#repeat('ingest', () => this.#ingest()),
      this.#repeat('wait', () => this.#wait()),
      this.#repeat('stream', () => this.#stream()),
      this.#repeat('enqueue', () => this.#enqueue()),
    ];
  }

  /** For how long, from `since` on (performance.now()), requests of every kind have been answered and none has failed. */
  servedMs(since: number): number {
    const kinds = Object.keys(this.#asked).map(
      (what) => (this.#servedAt[what] ?? 0) - Math.max(since, this.#failedAt[what] ?? 0),
    );
    return Math.min(...kinds);
  }

  async stop(): Promise<LoadReport> {
    this.#isOver = true;
    await Promise.all(this.#callers);
    return {
      asked: this.#asked,
      failures: this.#failures,
      slowestMs: this.#slowestMs,
      ingested: this.#ingested,
      enqueued: this.#enqueued,
      agent: this.agent,
    };
  }

  async #repeat(what: string, ask: () => Promise<void>): Promise<void> {
    while (!this.#isOver) {
      const beganAt = new Date().toISOString();
      const began = performance.now();
      this.#asked[what] = (this.#asked[what] ?? 0) + 1;
      try {
        await ask();
        this.#servedAt[what] = performance.now();
      } catch (error) {
        this.#failedAt[what] = performance.now();
        this.#failures.push({ what, beganAt, error: causesOf(error).map(String).join(': ') });
      }
      this.#slowestMs[what] = Math.max(this.#slowestMs[what] ?? 0, Math.round(performance.now() - began));
      await systemClock.sleep(this.pauseMs);
    }
  }

  async #read(): Promise<void> {
    const { status, body } = await this.rest.get('/v2/deployments');
    if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`);
  }

  async #ingest(): Promise<void> {
    const id = randomUUID();
    const time = new Date().toISOString();
    const dotted_order = `${time.replace(/[-:.]/g, '').replace('Z', '000Z')}${id}`;
    const run = {
      id,
      trace_id: id,
      dotted_order,
      name: 'load',
      run_type: 'chain',
      session_name: this.project,
      start_time: time,
      end_time: time,
      inputs: {},
      outputs: {},
    };
    const { status, body } = await this.rest.post('/runs/batch', { post: [run], patch: [] });
    if (status !== 202) throw new Error(`${status} ${JSON.stringify(body)}`);
    this.#ingested.push(id);
  }

  async #wait(): Promise<void> {
    const input = { messages: [{ role: 'user', content: 'what is 2 + 40?' }] };
    const { messages } = (await this.agent.runs.wait(null, 'agent', { input })) as { messages: Message[] };
    if (!messages.at(-1)?.content.includes('42')) throw new Error(JSON.stringify(messages));
  }

  async #enqueue(): Promise<void> {
    const { thread_id: threadId } = await this.agent.threads.create();
    for (let at = 0; at < RUNS_A_THREAD; at++) {
      const text = `${threadId} ${at}`;
      const input = { messages: [{ role: 'user', content: text }] };
      const made = await this.agent.runs.create(threadId, 'agent', { input, multitaskStrategy: 'enqueue' });
      this.#enqueued.push({ threadId, runId: made.run_id, text });
    }
  }

  async #stream(): Promise<void> {
    const input = { messages: [{ role: 'user', content: 'what is 2 + 40?' }] };
    let last: unknown;
    for await (const { event, data } of this.agent.runs.stream(null, 'agent', {
      input,
      streamMode: 'values',
    })) {
      if (event === 'error') throw new Error(JSON.stringify(data));
      last = data;
    }
    if (!JSON.stringify(last).includes('42')) throw new Error(JSON.stringify(last));
  }
}

/** An error and what caused it, outermost first: the SDK keeps that of a connection two levels down. */
function causesOf(error: unknown): readonly unknown[] {
  return error instanceof Error && error.cause !== undefined ? [error, ...causesOf(error.cause)] : [error];
}
