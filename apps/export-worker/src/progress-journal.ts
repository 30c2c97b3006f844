import { errorText } from '#lib/errors';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import {
  type ExportCursor,
  type ExportFile,
  type ExportIntent,
  type ExportProgress,
  type ExportProgressRecord,
  StaleAttemptError,
} from '#lib/trace-store';
import type { WorkerConfig } from './config.js';

const BEAT_MS = 1000;

/** Part of the intent that changes while a file is written. */
export type SoFar = NonNullable<ExportIntent['soFar']>;

/**
 * This attempt's writes to its progress, one after another, and a heartbeat between them: every second it writes how
 * far the open file is, which also shows whether the attempt is still in force. When it is not, `signal` is aborted and
 * whatever runs must stop and touch nothing more.
 */
export class ProgressJournal {
  readonly #progress: ExportProgress;
  readonly #runUid: string;
  readonly #attempt: number;
  readonly #exportUid: string | undefined;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #abort = new AbortController();
  #intent: ExportIntent | undefined;
  #soFar: (() => SoFar | undefined) | undefined;
  #tail: Promise<unknown> = Promise.resolve();
  #cancelBeat: (() => void) | undefined;

  constructor(
    progress: ExportProgress,
    { runUid, attempt, exportUid }: Pick<WorkerConfig, 'runUid' | 'attempt' | 'exportUid'>,
    clock: Clock,
    log: Logger,
  ) {
    this.#progress = progress;
    this.#runUid = runUid;
    this.#attempt = attempt;
    this.#exportUid = exportUid;
    this.#clock = clock;
    this.#log = log;
  }

  /** Aborted with StaleAttemptError once another attempt is in force, or the run was cancelled. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** @throws StaleAttemptError */
  async claim(): Promise<ExportProgressRecord> {
    const record = await this.#progress.claim(this.#runUid, this.#attempt, this.#exportUid);
    this.#intent = record.intent;
    this.#scheduleBeat();
    return record;
  }

  /** @param soFar asked at every heartbeat until the part is complete */
  async recordIntent(intent: ExportIntent, soFar?: () => SoFar | undefined): Promise<void> {
    this.#intent = intent;
    this.#soFar = soFar;
    await this.#write(() => this.#progress.recordIntent(this.#runUid, this.#attempt, intent));
  }

  /** Goes on with feedback, from its first row. */
  async beginFeedback(): Promise<void> {
    await this.#write(() => this.#progress.beginFeedback(this.#runUid, this.#attempt));
  }

  async clearIntent(): Promise<void> {
    this.#intent = undefined;
    await this.#write(() => this.#progress.clearIntent(this.#runUid, this.#attempt));
  }

  async completePart(file: ExportFile, cursor: ExportCursor): Promise<void> {
    this.#intent = this.#soFar = undefined;
    await this.#write(() => this.#progress.completePart(this.#runUid, this.#attempt, file, cursor));
  }

  /** @throws StaleAttemptError unless this attempt is in force */
  async confirm(): Promise<void> {
    await this.#write(() => this.#beat());
  }

  async finish(): Promise<void> {
    await this.#write(() => this.#progress.finish(this.#runUid, this.#attempt));
  }

  /** @returns false for the last run of an export, which is ended by `finish` once the export's manifest is written */
  async finishUnlessLast(exportUid: string, runs: number): Promise<boolean> {
    return await this.#write(() =>
      this.#progress.finishUnlessLast(this.#runUid, this.#attempt, exportUid, runs),
    );
  }

  async fail(message: string): Promise<void> {
    await this.#write(() => this.#progress.fail(this.#runUid, this.#attempt, message));
  }

  /** Ends the heartbeat after the writes in flight. */
  async stop(): Promise<void> {
    this.#cancelBeat?.();
    this.#cancelBeat = undefined;
    await this.#tail;
  }

  #write<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#tail.then(work);
    this.#tail = mine.catch((error: unknown) => {
      if (error instanceof StaleAttemptError) this.#abort.abort(error);
    });
    return mine;
  }

  #scheduleBeat(): void {
    this.#cancelBeat = this.#clock.after(BEAT_MS, () => {
      this.#write(() => this.#beat())
        // the database may be away for a moment: the work itself will find out whether it stays away
        .catch((error: unknown) =>
          this.#log.warn({ error: errorText(error) }, 'recording a heartbeat failed; retrying'),
        )
        .finally(() => {
          if (this.#cancelBeat) this.#scheduleBeat();
        });
    });
  }

  async #beat(): Promise<void> {
    if (this.#intent) {
      const soFar = this.#soFar?.();
      await this.#progress.recordIntent(this.#runUid, this.#attempt, {
        ...this.#intent,
        ...(soFar ? { soFar } : {}),
      });
      return;
    }
    const record = await this.#progress.find(this.#runUid);
    if (record?.attempt !== this.#attempt || record.state !== 'running')
      throw new StaleAttemptError(this.#runUid, this.#attempt);
  }
}
