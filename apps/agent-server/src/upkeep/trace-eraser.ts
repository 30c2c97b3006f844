import { errorText } from '#lib/errors';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import {
  claimTraceErasures,
  delayTraceErasures,
  endTraceErasures,
  type TraceErasure,
} from '../store/statement/trace-erasures.js';
import type { Sql } from '../store/sql.js';
import { WORKER } from '../store/worker-scope.js';

/** Milliseconds between two looks; a request that orders a deletion wakes its own server at once. */
const POLL_MS = 10_000;

/** Limit per request of the platform. */
const BATCH = 1_000;

/** Milliseconds that the platform gets: it answers when everything is deleted. */
const PATIENCE_MS = 120_000;

/** Time longer than a request takes: after it another server asks in place of one that died. */
const LEASE_MS = 180_000;

const FIRST_PAUSE_MS = 2_000;
const LONGEST_PAUSE_MS = 300_000;

/** Characters of an answer that are quoted. */
const QUOTED = 300;

/** The platform that keeps the traces, and the deployment's own key there. */
export interface Platform {
  readonly url: string;
  readonly key: string;
}

export interface TraceEraserParts {
  readonly sql: Sql;
  readonly platform: Platform;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Has the platform delete the traces of everything that was removed here. Deletions are in the database since
 * the very transaction that removed the objects; any server asks for them, until the platform has answered.
 */
export class TraceEraser {
  #cancel: (() => void) | undefined;
  #isStopped = false;
  #isWoken = false;
  #erasing: Promise<void> | undefined;

  constructor(private readonly parts: TraceEraserParts) {}

  start(): void {
    if (this.#isStopped) return;
    this.wake();
    this.#cancel = this.parts.clock.after(POLL_MS, () => this.start());
  }

  /** Resolves when no request is in flight. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel?.();
    await this.#erasing;
  }

  /** Called when there may be traces to delete. */
  wake(): void {
    this.#isWoken = true;
    if (this.#isStopped || this.#erasing) return;
    this.#erasing = this.#eraseAll().finally(() => {
      this.#erasing = undefined;
    });
  }

  async #eraseAll(): Promise<void> {
    const { sql, log } = this.parts;
    try {
      while (this.#isWoken && !this.#isStopped) {
        this.#isWoken = false;
        const due = await claimTraceErasures(WORKER, sql, BATCH, LEASE_MS);
        if (due.length === BATCH) this.#isWoken = true;
        for (const together of inRequests(due)) await this.#erase(together);
      }
    } catch (error) {
      log.warn({ error: errorText(error) }, 'looking for traces to delete failed');
    }
  }

  async #erase(erasures: readonly TraceErasure[]): Promise<void> {
    const { sql, log } = this.parts;
    const error = await this.#ask(erasures).catch(errorText);
    if (error === undefined) return endTraceErasures(WORKER, sql, erasures);
    const attempt = Math.max(...erasures.map((erasure) => erasure.attempt));
    const pauseMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(attempt - 1, 20));
    const level = attempt > 1 ? 'error' : 'warn';
    log[level](
      { erasures: erasures.length, attempt, error },
      'deleting traces at the platform failed, trying again later',
    );
    await delayTraceErasures(WORKER, sql, erasures, { error, pauseMs });
    this.parts.clock.after(pauseMs, () => this.wake());
  }

  /** @returns why it failed; undefined when nothing of the traces is left */
  async #ask(erasures: readonly TraceErasure[]): Promise<string | undefined> {
    const { url, key } = this.parts.platform;
    const idsOf = (kind: TraceErasure['kind']) =>
      erasures.filter((erasure) => erasure.kind === kind).map(({ id }) => id);
    const response = await fetch(`${url}/runs/delete`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': key },
      body: JSON.stringify({
        trace_ids: idsOf('trace'),
        thread_ids: idsOf('thread'),
        began_by: erasures.find(({ kind }) => kind === 'thread')?.requestedAt,
      }),
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    const text = await response.text();
    return response.ok ? undefined : `the platform answered ${response.status}: ${text.slice(0, QUOTED)}`;
  }
}

/**
 * Groups deletions into requests: those of threads by the moment of removal, since each request names one.
 */
function inRequests(due: readonly TraceErasure[]): readonly (readonly TraceErasure[])[] {
  const ofThreads = Map.groupBy(
    due.filter(({ kind }) => kind === 'thread'),
    ({ requestedAt }) => requestedAt,
  );
  const ofRuns = due.filter(({ kind }) => kind === 'trace');
  return [...ofThreads.values(), ofRuns].filter((together) => together.length > 0);
}
