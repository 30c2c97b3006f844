import type { Clock } from '#lib/time';
import { errorText } from '#lib/errors';
import { type Logger, outsideScope, withLogFields } from '#lib/telemetry';
import type { Execution, Outcome, OutputSink } from '../protocol/execution.js';
import type { EncodedEvent, RunEvent } from '../stream/run-event.js';
import type { RunLog, RunLogs } from './run-logs.js';
import type { RunRelay } from './run-relay.js';
import { BEGINNING } from '../log/logged-event.js';
import { persevere } from '../store/batch.js';
import {
  type Acceptance,
  type ClaimedRun,
  type WorkedRun,
  serverLost,
  type ServerIdentity,
} from '../store/row/claimed-run.js';
import {
  claimRuns,
  handBackRuns,
  readInput,
  retryRun,
  type RunLimits,
} from '../store/statement/claim-runs.js';
import type { Sql } from '../store/sql.js';
import { WORKER } from '../store/worker-scope.js';
import type { FeedbackAddresses } from './feedback-addresses.js';
import { observedAttempt } from './observe-runs.js';
import { runLogFields } from '../wire/run-log-fields.js';
import type { TemporaryRuns, ThreadRuns } from './thread-runs.js';

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
class RunAtWork {
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

/** Milliseconds between two looks into the queue without a notification; finds delayed runs and lost notifications. */
const POLL_MS = 1_000;

/** Time for which the end of a run waits for an unavailable database; after it the lease decides. */
const FINISH_PATIENCE_MS = 15_000;

/** Runs executed elsewhere whose output readers here wait for. */
export interface Followed {
  /** Continues after the last event of the log. */
  follow(log: RunLog): void;
  /** Answers whether the run was followed. */
  unfollow(runId: string): boolean;
}

/** Processes that run graphs. */
export interface Hosts {
  /**
   * @param readInput reads an input that is too large to be claimed with the run; undefined once another
   *   attempt has it
   */
  execution(
    run: ClaimedRun,
    sink: OutputSink,
    readInput: (run: ClaimedRun) => Promise<string | undefined>,
  ): Execution;
  /** Limit of runs in progress at once, by the present load. */
  readonly places: number;
  /** Called when there are more places than before. */
  onRoom: (() => void) | undefined;
}

export interface WorkerParts {
  readonly sql: Sql;
  readonly hosts: Hosts;
  readonly server: ServerIdentity;
  /** Limit per run: working time of all its attempts together. */
  readonly runTimeoutMs: number;
  readonly limits: RunLimits;
  /** True when runs are executed here; a server that only answers requests leaves them to others. */
  readonly takesRuns: boolean;
  readonly temporary: TemporaryRuns;
  readonly onThreads: ThreadRuns;
  readonly relay: RunRelay;
  readonly logs: RunLogs;
  readonly followed: Followed;
  readonly feedback: FeedbackAddresses;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Executes runs: as many places as the hosts bear, filled from the queue. Wake-ups (a notification, a run
 * made here, a place that became free) only make it poll sooner; the poll decides.
 */
export class Worker {
  readonly #atWork = new Map<string, RunAtWork>();
  /** Places promised to requests that are just making their run. */
  #reserved = 0;
  #isClaiming = false;
  #shouldLookAgain = false;
  /** The queue may hold due runs; newcomers must then line up behind them. */
  #mayHaveWaiting = true;
  #isDraining = false;
  #cancelPoll: (() => void) | undefined;

  constructor(private readonly parts: WorkerParts) {
    parts.logs.onWanted = (runId) => this.#atWork.get(runId)?.execution.wantedChanged();
    parts.hosts.onRoom = () => {
      if (this.#mayHaveWaiting) this.#look();
    };
  }

  start(): void {
    if (!this.parts.takesRuns) return;
    const poll = (): void => {
      this.#look();
      this.#cancelPoll = this.parts.clock.after(POLL_MS, poll);
    };
    poll();
  }

  /** Claimed runs that are in progress here. */
  get runs(): ClaimedRun[] {
    return [...this.#atWork.values()].map((entry) => entry.execution.run);
  }

  /** The same with how long they have worked. */
  get workedRuns(): WorkedRun[] {
    return this.runs.map((run) => this.#worked(run));
  }

  #worked({ runId, attempt, ranMs }: ClaimedRun): WorkedRun {
    const nowMs = this.parts.clock.monotonicMs();
    return { runId, attempt, workedMs: ranMs + nowMs - (this.#atWork.get(runId)?.begunAtMs ?? nowMs) };
  }

  /** Limit of runs in progress here at once. */
  get places(): number {
    return this.parts.takesRuns ? this.parts.hosts.places : 0;
  }

  get freePlaces(): number {
    return this.#isDraining ? 0 : this.places - this.#atWork.size - this.#reserved;
  }

  /**
   * True when runs are limited by counts: counting needs the queue, so a run cannot begin when it is made.
   */
  get #hasLimits(): boolean {
    const { perAssistant, perCaller } = this.parts.limits;
    return perAssistant > 0 || perCaller > 0;
  }

  find(runId: string): Execution | undefined {
    return this.#atWork.get(runId)?.execution;
  }

  /** A place for a run that a request is about to make, unless others wait. Give it to `start…` or `release`. */
  reserve(): boolean {
    if (this.freePlaces <= 0 || this.#mayHaveWaiting || this.#hasLimits) return false;
    this.#reserved++;
    return true;
  }

  release(): void {
    this.#reserved--;
    if (this.#mayHaveWaiting) this.#look();
  }

  /** Begins a run whose lease is ours, on a reserved place. */
  startReserved(run: ClaimedRun): void {
    this.#reserved--;
    this.begin(run);
  }

  /** Relays the run's output from now on to readers at these servers too. */
  relay(runId: string, watchers: readonly (string | undefined)[]): void {
    const entry = this.#atWork.get(runId);
    if (!entry) return;
    entry.isRelayed = true;
    const { relay, server } = this.parts;
    relay.addWatchers(
      runId,
      watchers.filter((watcher) => watcher !== server.serverId),
    );
    this.parts.logs.record(entry.log);
  }

  /** Called when there may be a due run in the queue. */
  wake(): void {
    this.#mayHaveWaiting = true;
    this.#look();
  }

  #look(): void {
    if (this.#isClaiming) this.#shouldLookAgain = true;
    else void this.#claim();
  }

  async #claim(): Promise<void> {
    this.#isClaiming = true;
    try {
      do {
        this.#shouldLookAgain = false;
        const places = this.freePlaces;
        if (places <= 0) break;
        const runs = await this.#claimInto(places);
        if (!this.#shouldLookAgain) this.#mayHaveWaiting = runs.length === places;
        // runs begin outside the scope of the request that woke the queue: they belong to no request
        for (const run of runs) outsideScope(() => this.begin(run));
      } while (this.#shouldLookAgain || this.#mayHaveWaiting);
    } catch (error) {
      this.parts.log.warn({ error: errorText(error) }, 'claiming runs failed');
    } finally {
      this.#isClaiming = false;
    }
  }

  /** Claims runs. The places are promised while the statement is in flight. */
  async #claimInto(places: number): Promise<ClaimedRun[]> {
    this.#reserved += places;
    try {
      const { sql, server, limits } = this.parts;
      return await claimRuns(WORKER, sql, server, places, limits);
    } finally {
      this.#reserved -= places;
    }
  }

  /** Begins a run whose lease is ours. */
  begin(run: ClaimedRun): void {
    const { clock, relay, server } = this.parts;
    const watchers = run.watchers.filter((watcher) => watcher !== server.serverId);
    const isRelayed = watchers.length > 0;
    if (isRelayed) relay.addWatchers(run.runId, watchers);
    const log = this.#openLog(run, isRelayed);
    const execution = this.parts.hosts.execution(run, this.#sink(run, log), () =>
      readInput(WORKER, this.parts.sql, run),
    );
    const done = withLogFields(runLogFields(run), () =>
      Promise.resolve().then(() => this.#perform(execution)),
    );
    const { leaseMs } = server;
    const entry = new RunAtWork({ execution, done, log, isRelayed, relay, leaseMs, clock });
    this.#atWork.set(run.runId, entry);
    const data = JSON.stringify({ run_id: run.runId, attempt: run.attempt });
    const opening = log.events.open(run.attempt, { event: 'metadata', data });
    if (isRelayed && opening) void relay.append(run.runId, opening);
    if (this.#isDraining) execution.stop({ kind: 'handed-back' });
  }

  #openLog({ runId, attempt, isResumable, isStreamed }: ClaimedRun, isRelayed: boolean): RunLog {
    const { logs, followed } = this.parts;
    const log = logs.open(runId);
    // A followed log may lack the end of the attempt before: readers look for it in the database
    const wasFollowed = followed.unfollow(runId);
    const holdsAll = log.isMadeHere && log.events.last?.attempt === attempt - 1;
    if (attempt > 1 && (wasFollowed || !holdsAll)) log.events.restart({ attempt, n: -1 });
    log.isAtWork = true;
    log.isMadeHere = true;
    log.isResumable = isResumable;
    if (isStreamed || isRelayed) logs.record(log);
    return log;
  }

  #sink(run: ClaimedRun, { events }: RunLog): OutputSink {
    return {
      isWanted: () => events.isRecording,
      isAwaited: () => events.isAwaited,
      emit: (event) => {
        const entry = this.#atWork.get(run.runId);
        if (entry?.execution.run === run) entry.emit(event);
      },
    };
  }

  /**
   * The run is still ours, as was asked at `askedAtMs`. A server that slept for longer than its lease shows readers
   * nothing before it knows that: another may have the run by now.
   */
  renewed(run: ClaimedRun, askedAtMs: number): void {
    const entry = this.#atWork.get(run.runId);
    if (entry?.execution.run === run) entry.renewed(askedAtMs);
  }

  async #perform(execution: Execution): Promise<void> {
    const { run } = execution;
    const { clock, log, runTimeoutMs: limitMs } = this.parts;
    const leftMs = Math.max(0, limitMs - run.ranMs);
    const endLimit = clock.after(leftMs, () => execution.stop({ kind: 'timed-out', limitMs }));
    try {
      const outcome = await observedAttempt(run, () => execution.perform());
      await this.parts.feedback.show(run, outcome, (event) => this.#atWork.get(run.runId)?.emit(event));
      await this.#settle(run, outcome);
    } catch (error) {
      // The lease runs out, and the run is taken over.
      log.error({ error: errorText(error) }, 'recording the end of a run failed');
      this.#moved(run);
    } finally {
      endLimit();
    }
  }

  async #settle(run: ClaimedRun, outcome: Outcome): Promise<void> {
    const { logs, log, sql } = this.parts;
    switch (outcome.kind) {
      case 'ended': {
        const { isAccepted, hasNext } = await this.#finish(run, outcome);
        if (!isAccepted) {
          log.warn({ attempt: run.attempt }, 'refused the end of an outdated attempt');
          return this.#moved(run);
        }
        this.renewed(run, this.parts.clock.monotonicMs());
        const entry = this.#atWork.get(run.runId);
        this.#free(run);
        if (hasNext) this.wake();
        logs.end(run.runId, { body: outcome.body });
        if (entry?.isRelayed) void this.parts.relay.end(entry.log);
        this.parts.relay.forgetWatchers(run.runId);
        return;
      }
      case 'handed-back':
        // The rest may be read elsewhere: all of this attempt is there before the next one begins
        await this.#save(run.runId);
        await handBackRuns(WORKER, sql, [{ ...this.#worked(run), isRead: this.#hasReaders(run) }]);
        return this.#moved(run);
      case 'lost':
        log.warn({ attempt: run.attempt, error: errorText(outcome.error) }, 'run lost');
        return this.#moved(run);
      case 'crashed':
        return this.#retry(run, outcome);
      default:
        outcome satisfies never;
    }
  }

  /**
   * The process of a run ended and this server survives: the run continues here at once, as its next attempt.
   */
  async #retry(run: ClaimedRun, { isCharged, error }: Extract<Outcome, { kind: 'crashed' }>): Promise<void> {
    const { clock, log, server, sql } = this.parts;
    const { runId, attempt } = run;
    log.warn({ runId, attempt, isCharged, error: errorText(error) }, 'the process of a run ended');
    const worked = this.#worked(run);
    const next = await persevere(clock, FINISH_PATIENCE_MS, () =>
      retryRun(WORKER, sql, server, worked, isCharged),
    );
    if (next) return this.begin(next);
    const lost = serverLost(attempt);
    const body = JSON.stringify({ __error__: lost });
    await this.#settle(run, {
      kind: 'ended',
      body,
      end: { status: 'error', threadStatus: 'error', error: lost },
    });
  }

  #finish(run: ClaimedRun, outcome: Extract<Outcome, { kind: 'ended' }>): Promise<Acceptance> {
    const { clock, onThreads, temporary } = this.parts;
    const { end } = outcome;
    let isRepeated = false;
    return persevere(clock, FINISH_PATIENCE_MS, () => {
      const last = { run, end, isRead: this.#isRead(run), isRepeated };
      isRepeated = true;
      return run.isTemporary ? temporary.end(last) : onThreads.end(run, end);
    });
  }

  #free(run: ClaimedRun): void {
    if (this.#atWork.get(run.runId)?.execution.run === run) this.#atWork.delete(run.runId);
    if (this.#mayHaveWaiting) this.#look();
  }

  /** True when the run has or may get readers: a run without a thread is still found for a while. */
  #isRead({ runId }: ClaimedRun): boolean {
    return this.parts.logs.find(runId)?.events.isRecording ?? false;
  }

  #moved(run: ClaimedRun): void {
    const { logs, followed } = this.parts;
    const log = logs.find(run.runId);
    this.#free(run);
    this.parts.relay.forgetWatchers(run.runId);
    if (!log) return;
    log.isAtWork = false;
    if (this.#hasReaders(run)) followed.follow(log);
    else logs.release(log);
  }

  /** True when a client here reads the run or waits for its end. */
  #hasReaders({ runId }: ClaimedRun): boolean {
    const events = this.parts.logs.find(runId)?.events;
    return events !== undefined && (events.readers > 0 || events.isAwaited);
  }

  /** Writes the events in the log of a run to the database, where other servers find them. */
  async #save(runId: string): Promise<void> {
    const { logs, relay } = this.parts;
    const log = logs.find(runId);
    if (log?.events.isRecording) await relay.repeat(runId, log.events.after(BEGINNING));
  }

  /** Leaves the output of runs that have ended here to other servers, for readers that have not taken all of it. */
  async #saveEnded(): Promise<void> {
    const ended = this.parts.logs.all.filter(
      ({ events, isMadeHere, isResumable, isLeft }) =>
        isMadeHere && events.result && (isResumable || isLeft || events.readers > 0),
    );
    for (const log of ended) {
      await this.#save(log.runId);
      void this.parts.relay.end(log);
    }
    await this.parts.relay.flushed();
  }

  /** Stops taking runs, lets running ones finish for `graceMs`, then hands them back. */
  async drain(graceMs: number): Promise<void> {
    this.#isDraining = true;
    this.#cancelPoll?.();
    const graceOver = new AbortController();
    const all = Promise.allSettled([...this.#atWork.values()].map((entry) => entry.done));
    await Promise.race([
      all.then(() => graceOver.abort(new Error('all runs have ended'))),
      this.parts.clock.sleep(graceMs, graceOver.signal).catch(() => undefined),
    ]);
    for (const { execution } of this.#atWork.values()) execution.stop({ kind: 'handed-back' });
    await Promise.allSettled([...this.#atWork.values()].map((entry) => entry.done));
    await this.#saveEnded();
  }
}
