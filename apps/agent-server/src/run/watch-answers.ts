import type { Clock } from '#lib/time';
import { BEGINNING, isAfter, type Position } from '../log/logged-event.js';
import type { RunLog, RunLogs } from './run-logs.js';
import type { RunRelay } from './run-relay.js';

/** Age up to which events written for one reader elsewhere are not written again for the next one. */
const FRESH_MS = 5_000;

/** Events are taken from the log in pieces, so that none is held longer than the log keeps it. */
const PIECE_BYTES = 1024 * 1024;

export interface WatchAnswersParts {
  readonly worker: { relay(runId: string, watchers: readonly (string | undefined)[]): void };
  readonly logs: RunLogs;
  readonly relay: RunRelay;
  readonly clock: Clock;
}

/** Events of a run written for a follower. */
interface Written {
  readonly fromMs: number;
  /** Everything after it, up to the newest event then. */
  after: Position;
  /** The newest event then. Later ones were relayed, possibly by a way on which they can get lost. */
  upTo: Position;
  hasEnd: boolean;
  /** Resolves once it is in the database. */
  done: Promise<void>;
}

/**
 * Answers other servers, whose readers want the output of runs here.
 *
 * A server gets what is kept after a position; clients choose that position and ask as often as they like. So
 * events written within the last 5 s are not written again, and all runs take turns: in that time at most its
 * log is written for each run, and at most all its logs for this process, one piece at a time.
 */
export class WatchAnswers {
  readonly #written = new Map<string, Written>();
  #turn: Promise<void> = Promise.resolve();

  constructor(private readonly parts: WatchAnswersParts) {
    // a reader that notices a gap asks for it: the next answer must not rely on lost events
    parts.relay.onLost = (runId) => this.#written.delete(runId);
  }

  /**
   * Relays the run's output from now on to readers at other servers too.
   * @param after position after which events are repeated, also of a run that has ended
   * @param asker the server; undefined: one of an earlier version
   */
  async answer(runId: string, after?: Position, asker?: string): Promise<void> {
    const { worker, logs, relay } = this.parts;
    worker.relay(runId, [asker]);
    const log = logs.find(runId);
    if (!log?.isMadeHere) return;
    const { last = BEGINNING, result } = log.events;
    await this.#write(log, after ?? last);
    // a server that lost the run does not know its position
    if (log.isAtWork || result) relay.stand(runId, last);
  }

  #write(log: RunLog, after: Position): Promise<void> {
    const { runId, events } = log;
    this.#forgetOld();
    const known = this.#written.get(runId);
    const { last = BEGINNING } = events;
    const written = known ?? {
      fromMs: this.parts.clock.monotonicMs(),
      after: last,
      upTo: last,
      hasEnd: false,
      done: Promise.resolve(),
    };
    if (!known) this.#written.set(runId, written);
    const { after: before, upTo } = written;
    if (isAfter(before, after)) {
      written.after = after;
      written.done = this.#inTurn(() => this.#repeat(log, after, before));
    }
    if (this.parts.relay.isLive && isAfter(last, upTo) && isAfter(last, after)) {
      written.upTo = last;
      written.done = this.#inTurn(() => this.#repeat(log, upTo, last));
    }
    if (events.result && !written.hasEnd) {
      written.hasEnd = true;
      written.done = this.#inTurn(() => this.parts.relay.end(log));
    }
    return written.done;
  }

  #inTurn(action: () => Promise<void>): Promise<void> {
    return (this.#turn = this.#turn.then(action));
  }

  async #repeat({ runId, events }: RunLog, after: Position, upTo: Position): Promise<void> {
    for (let from = after; ;) {
      const piece = events.after(from, PIECE_BYTES).filter(({ position }) => !isAfter(position, upTo));
      const last = piece.at(-1);
      if (!last) return;
      await this.parts.relay.repeat(runId, piece);
      from = last.position;
    }
  }

  #forgetOld(): void {
    const sinceMs = this.parts.clock.monotonicMs() - FRESH_MS;
    for (const [runId, { fromMs }] of this.#written) {
      if (fromMs > sinceMs) return; // the rest is newer
      this.#written.delete(runId);
    }
  }
}
