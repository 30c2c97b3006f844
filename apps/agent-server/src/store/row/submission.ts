import type { JsonObject } from '#lib/json';
import { jsonbText, jsonText } from '../json-text.js';
import type { Scope } from '../scope.js';
import { outlineText } from './run-outline.js';
import type { RunStatus } from './run-row.js';
import type { StoredRun } from './stored-run.js';

/** Rules by which a new run enters the queue. */
export interface Queueing {
  /** Treatment of other active runs on its thread. */
  readonly strategy: 'enqueue' | 'reject' | 'interrupt' | 'rollback';
  readonly delayMs: number;
  /** This server has a free place and takes the run at once when nothing is before it. */
  readonly startsHere: boolean;
  /** A reader of this server waits for its output. */
  readonly isWatched: boolean;
  /** Metadata of the thread, which is made when it does not exist; undefined: it must exist. */
  readonly newThread: JsonObject | undefined;
}

/** Outcome of queueing a new run. */
export interface QueuedRun {
  readonly status: Extract<RunStatus, 'pending' | 'running'>;
  readonly createdAt: Date;
  /** True when its thread had no checkpoint yet; undefined: not checked. */
  readonly isThreadEmpty?: boolean;
}

/** A run without a thread, with the scope of the caller who requested it. */
export interface TemporarySubmission {
  readonly scope: Scope;
  readonly run: StoredRun;
  readonly queueing: Pick<Queueing, 'delayMs' | 'startsHere' | 'isWatched'>;
}

/**
 * A run on its way into the database: its text is made once, when it is stored, since inputs may be large.
 */
export class TemporaryRow {
  #text: string | undefined;

  constructor(readonly submission: TemporarySubmission) {}

  /** JSON. */
  get text(): string {
    return (this.#text ??= rowText(this.submission));
  }
}

function rowText({ scope, run, queueing }: TemporarySubmission): string {
  const filter = scope.kind === 'worker' ? '' : `,"visible":[${scope.filter.alternatives.join(',')}]`;
  // kwargs are passed as text: extracting rows from JSON decodes their contents, and inputs may hold NUL and
  // lone surrogates
  const kwargsText = jsonText(run.kwargs);
  const kwargs = JSON.stringify(kwargsText);
  return (
    `{"run_id":"${run.runId}","thread_id":"${run.threadId}","assistant_id":"${run.assistantId}",` +
    `"graph_id":${JSON.stringify(run.graphId)},"metadata":${jsonbText(run.metadata)},` +
    `"kwargs":${kwargs},"outline":${outlineText(run, kwargsText)},"delay_ms":${queueing.delayMs},"start_here":${queueing.startsHere},` +
    `"is_watched":${queueing.isWatched}${filter}}`
  );
}

/** A run on a thread that exists, on its way into the database. */
export class ThreadSubmission {
  #kwargs: string | undefined;
  #metadata: string | undefined;

  constructor(
    readonly scope: Scope,
    readonly run: StoredRun,
    readonly queueing: Queueing,
  ) {}

  /** JSON; made once: inputs may be large. */
  get kwargs(): string {
    return (this.#kwargs ??= jsonText(this.run.kwargs));
  }

  /** JSON. */
  get metadata(): string {
    return (this.#metadata ??= jsonbText(this.run.metadata));
  }

  /** Length of what it adds to a statement; outlines are a few words. */
  get length(): number {
    return this.kwargs.length + this.metadata.length;
  }

  /** JSON. */
  get outline(): string {
    return outlineText(this.run, this.kwargs);
  }
}
