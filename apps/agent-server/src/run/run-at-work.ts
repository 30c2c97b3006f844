import type { Clock } from '#lib/time';
import type { Execution } from '../protocol/execution.js';
import type { EncodedEvent, RunEvent } from '../stream/run-event.js';
import type { RunLog } from './run-logs.js';
import type { RunRelay } from './run-relay.js';

/** Bytes of output that wait until the run is known to be ours; above it the graph waits too. */
const MAX_HELD = 1024 * 1024;

export interface RunAtWorkParts {
  readonly execution: Execution;
  readonly done: Promise<void>;
  readonly log: RunLog;
  readonly isRelayed: boolean;
  readonly relay: Pick<RunRelay, 'append'>;
  readonly leaseMs: number;
  readonly clock: Pick<Clock, 'monotonicMs'>;
}

/**
 * A run that is performed here, with the output for its readers. They see its output while no other server
 * can have taken the run over; beyond that it is held until the run is known to be ours still.
 */
export class RunAtWork {
  readonly execution: Execution;
  readonly done: Promise<void>;
  readonly log: RunLog;
  /** Start on the monotonic clock. */
  readonly begunAtMs: number;
  isRelayed: boolean;
  /** Time until which no other server can have taken the run over, on the monotonic clock. */
  #ownUntilMs: number;
  #held: (RunEvent | EncodedEvent)[] = [];
  #heldLength = 0;

  constructor(private readonly parts: RunAtWorkParts) {
    this.execution = parts.execution;
    this.done = parts.done;
    this.log = parts.log;
    this.isRelayed = parts.isRelayed;
    this.begunAtMs = parts.clock.monotonicMs();
    this.#ownUntilMs = this.begunAtMs + parts.leaseMs;
  }

  emit(event: RunEvent | EncodedEvent): void {
    if (this.parts.clock.monotonicMs() > this.#ownUntilMs) this.#hold(event);
    else this.#show(event);
  }

  /** The run is still ours, as was asked at `askedAtMs`. */
  renewed(askedAtMs: number): void {
    this.#ownUntilMs = askedAtMs + this.parts.leaseMs;
    for (const event of this.#held.splice(0)) this.#show(event);
    this.#heldLength = 0;
    this.execution.hold(false);
  }

  /** Holds an event. A graph that continues meanwhile waits rather than fill this process. */
  #hold(event: RunEvent | EncodedEvent): void {
    // received bytes are a view of the read buffer
    this.#held.push(typeof event.data === 'string' ? event : { ...event, data: Buffer.from(event.data) });
    this.#heldLength += event.data.length;
    if (this.#heldLength > MAX_HELD) this.execution.hold(true);
  }

  #show(event: RunEvent | EncodedEvent): void {
    const logged = this.log.events.append(event);
    if (this.isRelayed && logged) void this.parts.relay.append(this.log.runId, logged);
  }
}
