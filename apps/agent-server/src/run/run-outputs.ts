import { errorText } from '#lib/errors';
import type { RunResult } from '../log/event-log.js';
import type { ReadFrom } from '../log/log-cursor.js';
import { BEGINNING } from '../log/logged-event.js';
import { markStreamed } from '../store/statement/run-events.js';
import type { RunHead } from '../store/statement/runs.js';
import type { Scope } from '../store/scope.js';
import { WORKER } from '../store/worker-scope.js';
import { getRunHead, runResult } from './run-result.js';
import type { RunLog } from './run-logs.js';
import { type Reading, type ReadingParts, type RunReader, RunReading } from './run-reading.js';
import type { Worker } from './worker.js';

export interface RunOutputsParts extends ReadingParts {
  readonly worker: Pick<Worker, 'find'>;
}

const NOTHING = (): void => undefined;

/** Reading of a run that has ended and whose output is gone. */
const NOTHING_LEFT: Reading = { take: () => undefined, state: 'ended', hasEnd: true, close: NOTHING };

/** Output and end of runs on any server, for clients that read along or wait. */
export class RunOutputs {
  constructor(private readonly parts: RunOutputsParts) {}

  /** True when output of the run is kept here. */
  isKept(runId: string): boolean {
    return this.parts.logs.find(runId)?.events.isRecording ?? false;
  }

  /**
   * Reads a run's output. From now on by default: one that has ended ends the reader at once. Everything that
   * is kept is for runs made with `stream_resumable`; a reader that names its last event continues after it,
   * also at another server and for a time after the end of the run.
   * @throws PublicError `not_found`
   */
  async read(
    scope: Scope,
    runId: string,
    threadId: string | undefined,
    reader: RunReader,
    wanted: ReadFrom = { kind: 'now' },
  ): Promise<() => void> {
    const { logs, worker } = this.parts;
    // Opened before the row is read: a log that ends in between still has the result
    const logHere = worker.find(runId) && logs.open(runId);
    const head = await getRunHead(scope, this.parts.sql, runId, threadId);
    const from: ReadFrom = wanted.kind === 'kept' && !head.isResumable ? { kind: 'now' } : wanted;
    const log = logHere ?? logs.find(runId);
    const hasEndHere = log?.events.result !== undefined;
    if (
      reader.kind === 'output' &&
      from.kind === 'now' &&
      (hasEndHere || (head.hasEnded && !log?.isAtWork))
    ) {
      reader.attach(NOTHING_LEFT);
      return NOTHING;
    }
    if (log && (log.isAtWork || hasEndHere)) return this.attach(log, reader, from);
    if (head.hasEnded && reader.kind === 'result') {
      reader.ended(await runResult(scope, this.parts.sql, head));
      return NOTHING;
    }
    return this.#readElsewhere(head, reader, from);
  }

  /** Reads output that another server makes, or made. */
  #readElsewhere({ runId, status, attempt }: RunHead, reader: RunReader, from: ReadFrom): () => void {
    const { logs, follower } = this.parts;
    const log = logs.open(runId);
    const { events } = log;
    if (follower.follows(runId)) return this.attach(log, reader, from);
    // output that this server made earlier may continue where it stopped; a client's position concerns only
    // its own reading
    if (!log.isMadeHere || from.kind === 'now') events.restart(from.kind === 'kept' ? BEGINNING : undefined);
    if (from.kind === 'now' && status === 'running')
      events.describe({
        event: 'metadata',
        data: JSON.stringify({ run_id: runId, attempt }),
      });
    const stopReading = this.attach(log, reader, from);
    follower.follow(log, {
      mayBeginLater: from.kind === 'kept',
      wanted: from.kind === 'after' ? from.position : undefined,
      isFromNow: from.kind === 'now' && status === 'running',
    });
    return stopReading;
  }

  /** Leads output that begins here to a reader. @returns stops the reading */
  attach(log: RunLog, reader: RunReader, from: ReadFrom): () => void {
    const { logs } = this.parts;
    if (reader.kind === 'result') {
      const stopWaiting = log.events.whenEnded((result) => reader.ended(result));
      return () => {
        stopWaiting();
        logs.release(log);
      };
    }
    if (log.isAtWork && !log.events.isRecording) this.#markStreamed(log);
    const reading = new RunReading(log, from, () => reader.more(), this.parts);
    reader.attach(reading);
    return () => reading.close();
  }

  #markStreamed({ runId }: RunLog): void {
    markStreamed(WORKER, this.parts.sql, runId).catch((error: unknown) =>
      this.parts.log.warn({ run_id: runId, error: errorText(error) }, 'noting that a run is read failed'),
    );
  }

  /**
   * Begins to wait for a run's end.
   * @returns once the waiting has begun, so that the end of the run is not missed; `ended` is the end
   * @throws PublicError `not_found`
   */
  async wait(scope: Scope, runId: string, threadId: string): Promise<{ ended: Promise<RunResult> }> {
    const { promise, resolve } = Promise.withResolvers<RunResult>();
    await this.read(scope, runId, threadId, { kind: 'result', ended: resolve });
    return { ended: promise };
  }
}
