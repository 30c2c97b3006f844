import { jsonbText, jsonText } from '../json-text.js';
import type { Scope } from '../scope.js';
import type { Queueing } from './queued-run.js';
import { outlineText } from './run-outline.js';
import type { StoredRun } from './stored-run.js';

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
