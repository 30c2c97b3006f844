import type { Clock } from '#lib/time';
import {
  stoppedOutcome,
  unreadableOutcome,
  type Execution,
  type Outcome,
  type OutputSink,
  type StopReason,
} from '../protocol/execution.js';
import type { ToHost, Wanted } from '../protocol/messages.js';
import { type ClaimedRun, FencedError } from '../store/row/claimed-run.js';
import { GraphProcess, type GoneWith } from './graph-process.js';

/** Time for a host to stop a run; a graph that ignores its signal gets 5 s there. */
const STOP_PATIENCE_MS = 7_000;

/** Host that performs one attempt. */
export interface Place {
  /** Rejects when no host will be available. */
  readonly host: Promise<GraphProcess>;
  /**
   * Gives the place back.
   * @param end of the host, when it ended under the run
   * @returns whether the run is to blame for that end
   */
  leave(end: GoneWith | undefined): { readonly isCharged: boolean };
}

/** Reads the input of a run's attempt, as JSON text; undefined once another attempt has the run. */
export type ReadInput = (run: ClaimedRun) => Promise<string | undefined>;

interface ExecutionParts {
  readonly enter: () => Place;
  readonly sink: OutputSink;
  readonly readInput: ReadInput;
  readonly clock: Clock;
}

/** Outcome of an attempt in its host, or before. */
type Ended = Promise<Outcome | GoneWith>;

/** One attempt of a run in a graph host. */
export class HostedExecution implements Execution {
  readonly #stopped = Promise.withResolvers<Outcome>();
  #stopReason: StopReason | undefined;
  #at: { readonly host: GraphProcess; readonly id: number } | undefined;
  #isHeld = false;
  #wanted: Wanted = { isWanted: false, isAwaited: false };

  constructor(
    readonly run: ClaimedRun,
    private readonly parts: ExecutionParts,
  ) {
    if (run.cancel) this.stop({ kind: 'cancelled', action: run.cancel });
  }

  stop(reason: StopReason): void {
    if (this.#stopReason) return;
    this.#stopReason = reason;
    if (!this.#at) return this.#stopped.resolve(stoppedOutcome(reason));
    const { host, id } = this.#at;
    host.send(stopMessage(reason), id);
    this.parts.clock.after(STOP_PATIENCE_MS, () => this.#insist(host, reason));
  }

  /** A host that executes one node and nothing else hears of no stop. */
  #insist(host: GraphProcess, reason: StopReason): void {
    // the run belongs to another server by now: everything that this host still writes of it is refused
    if (reason.kind === 'lost' || reason.kind === 'handed-back')
      return this.#stopped.resolve(stoppedOutcome(reason));
    if (!this.#at) return;
    if (host.silentMs > STOP_PATIENCE_MS / 2) host.kill();
    else this.parts.clock.after(STOP_PATIENCE_MS, () => this.#insist(host, reason));
  }

  wantedChanged(): void {
    if (!this.#at) return;
    const [before, now] = [this.#wanted, this.#lookWanted()];
    if (before.isWanted === now.isWanted && before.isAwaited === now.isAwaited) return;
    this.#at.host.send({ kind: 'wanted', ...now }, this.#at.id);
  }

  hold(isHeld: boolean): void {
    if (!this.#at || this.#isHeld === isHeld) return;
    this.#isHeld = isHeld;
    this.#at.host.send({ kind: 'hold', isHeld }, this.#at.id);
  }

  #lookWanted(): Wanted {
    this.#wanted = { isWanted: this.parts.sink.isWanted(), isAwaited: this.parts.sink.isAwaited() };
    return this.#wanted;
  }

  async perform(): Promise<Outcome> {
    if (this.#stopReason) return this.#shown(stoppedOutcome(this.#stopReason));
    const place = this.parts.enter();
    try {
      const host = await Promise.race([place.host, this.#stopped.promise]);
      if (host instanceof GraphProcess) return await this.#performIn(host, place);
      place.leave(undefined);
      return this.#shown(host);
    } catch (error) {
      place.leave(undefined);
      return { kind: 'crashed', isCharged: false, error };
    }
  }

  async #performIn(host: GraphProcess, place: Place): Promise<Outcome> {
    const outcome = await Promise.race([this.#begin(host), this.#stopped.promise]);
    this.#at = undefined;
    const { isCharged } = place.leave(outcome.kind === 'gone' ? outcome : undefined);
    if (outcome.kind !== 'gone') return this.#own(outcome);
    if (this.#stopReason) return this.#shown(stoppedOutcome(this.#stopReason));
    return { kind: 'crashed', isCharged, error: outcome.error };
  }

  #begin(host: GraphProcess): Ended {
    const input = this.run.input.take();
    return input === undefined ? this.#beginLarge(host) : this.#beginWith(host, input);
  }

  #beginWith(host: GraphProcess, input: string): Ended {
    this.#lookWanted();
    const { id, ended } = host.begin(this.run, input, this.parts.sink);
    this.#at = { host, id };
    return ended;
  }

  async #beginLarge(host: GraphProcess): Ended {
    const { run } = this;
    // in an object, as its end is not waited for here
    const begun = await host.inTurn(async () => {
      if (this.#stopReason) return undefined;
      const input = await this.parts.readInput(run);
      if (this.#stopReason) return undefined;
      return { ended: input === undefined ? undefined : this.#beginWith(host, input) };
    });
    if (!begun) return this.#stopped.promise;
    return begun.ended ?? { kind: 'lost', error: new FencedError(run.runId, run.attempt) };
  }

  /** Outcome by the stop reason, which is known here: a later report of the host no longer counts. */
  #own(outcome: Outcome): Outcome {
    // the next attempt would begin at once, and hand the run back again
    if (outcome.kind === 'handed-back' && this.#stopReason?.kind !== 'handed-back')
      return this.#shown(unreadableOutcome('it hands back a run without a stop of the server'));
    return outcome.kind === 'lost' && this.#stopReason?.kind === 'lost' ? this.#stopReason : outcome;
  }

  /** An end that no host has shown to readers. */
  #shown(outcome: Outcome): Outcome {
    if (outcome.kind === 'ended' && outcome.end.error && this.parts.sink.isWanted())
      this.parts.sink.emit({ event: 'error', data: JSON.stringify(outcome.end.error) });
    return outcome;
  }
}

function stopMessage(reason: StopReason): ToHost {
  switch (reason.kind) {
    case 'cancelled':
      return { kind: 'stop', reason: 'cancelled', action: reason.action, why: reason.why };
    case 'timed-out':
      return { kind: 'stop', reason: 'timed-out', limitMs: reason.limitMs };
    case 'handed-back':
    case 'lost':
      return { kind: 'stop', reason: reason.kind };
    default:
      return reason satisfies never;
  }
}
