import { jsonbText, jsonText } from '../json-text.js';
import type { Scope } from '../scope.js';
import { outlineText } from './run-outline.js';
import type { Queueing } from './queued-run.js';
import type { StoredRun } from './stored-run.js';

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
