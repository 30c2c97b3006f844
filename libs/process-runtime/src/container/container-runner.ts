import { randomBytes } from 'node:crypto';
import { errorText } from '#lib/errors';
import type { ProcessIdentity } from '#lib/process-identity';
import { type ContainerStatus, type Pod, type PodContainer, PODS } from '#lib/resources';
import { Backoff, type Clock, systemClock } from '#lib/time';
import { type StartedProcess, startProcess } from '../spare/start-process.js';
import type { NodeContext } from '../context/node-context.js';
import { attemptFiles, LogFile } from '../log/log-file.js';
import type { ContainerLog } from '../log/log-server.js';
import { kubeTime, ProcessStarts } from '../pace.js';
import { writeWhole } from '../pod-files/pod-files.js';
import { ContainerConfigError } from '../pod-values/pod-field.js';
import { ContainerProbes } from '../probe/container-probes.js';
import type { ProcessRecord } from '../strays/end-strays.js';
import type { Launch } from '../user/launch.js';
import { ContainerProcess, type ProcessExit } from './container-process.js';
import {
  type ContainerPhase,
  type ContainerView,
  readLogEnd,
  readTerminationMessage,
  type Termination,
} from './container-view.js';
import { ExpansionError, References } from './environment.js';
import { cpuLimit, excessText, memoryLimit } from './memory-limit.js';
import { ImageMissingError, type PodSurroundings, prepareLaunch } from './prepare-launch.js';

const LONGEST_MS = 300_000;

/** Pauses between attempts at a container: 1 s, 2 s, … 5 min; one that ran for five minutes begins anew. */
class RestartBackoff {
  readonly #backoff: Backoff;

  constructor(clock: Clock) {
    // a kubelet has no jitter either
    this.#backoff = new Backoff(clock, { firstMs: 1_000, longestMs: LONGEST_MS, jitter: 0 });
  }

  /** The pause after an attempt that ran for `ranMs`. */
  after(ranMs: number): number {
    if (ranMs >= LONGEST_MS) this.#backoff.reset();
    return this.#backoff.nextMs();
  }
}

export interface ContainerRunnerOptions {
  readonly context: NodeContext;
  /** The newest object. */
  readonly pod: () => Pod;
  readonly container: PodContainer;
  readonly surroundings: () => PodSurroundings;
  readonly restartPolicy: 'Always' | 'OnFailure' | 'Never';
  readonly onChange: () => void;
  /** Looks after what the container needs, when an attempt before has ended. */
  readonly beforeRestart: () => Promise<void>;
  /** Status that an earlier life of this node reported. */
  readonly before: ContainerStatus | undefined;
  /** An earlier life of this node had started it. */
  readonly wasStarted: boolean;
}

/** The reason of a container that used too much memory. */
const OOM_KILLED = 'OOMKilled';

/** Reason of a kubelet that may not pull images: this node pulls none. */
const IMAGE_MISSING = 'ErrImageNeverPull';

/**
 * Starts of all containers of this process, in half of its time; includes resolving the targets of their
 * mounts.
 */
const containerStarts = new ProcessStarts(systemClock, 1);

/** Time after which what was read ahead is read again. */
const READ_AHEAD_MS = 1_000;

/** Longest pause before a missing image, Secret or key is looked for again. */
const MAX_CONFIG_PAUSE_MS = 20_000;

/**
 * One container of a pod, from its first attempt to its last.
 *
 * - **waiting** (`ContainerCreating`): environment and image are looked up; `ErrImageNeverPull` or
 *   `CreateContainerConfigError` while something is missing, looked up again with growing pauses → running
 * - **running**: its process lives and is probed; when liveness or startup fails it is ended → terminated
 * - **terminated**: final when the policy allows no restart; else → waiting (`CrashLoopBackOff`) for the
 * pause → running
 * - `stop` from any state: no new attempt begins, a running process gets its grace → terminated
 *
 * A container that an earlier life of the node had started has lost its process: it counts as ended with 137
 * and continues by its policy.
 */
export class ContainerRunner {
  readonly #options: ContainerRunnerOptions;
  readonly #stopping = new AbortController();
  readonly #backoff: RestartBackoff;
  #phase: ContainerPhase = { kind: 'waiting', reason: 'ContainerCreating' };
  #last: Termination | undefined;
  #restartCount = 0;
  #containerId: string | undefined;
  #process: ContainerProcess | undefined;
  #probes: ContainerProbes | undefined;
  #logFile: LogFile | undefined;
  #references: References | undefined;
  #graceMs = 0;

  constructor(options: ContainerRunnerOptions) {
    this.#options = options;
    this.#backoff = new RestartBackoff(options.context.clock);
    this.#restore();
  }

  get view(): ContainerView {
    const { container } = this.#options;
    return {
      name: container.name,
      image: container.image ?? '',
      containerId: this.#containerId,
      phase: this.#phase,
      last: this.#last,
      // one that waits for its next attempt has not been restarted yet
      restartCount: Math.max(0, this.#restartCount - (this.#phase.kind === 'waiting' ? 1 : 0)),
      isStarted: this.#phase.kind === 'running' && this.#probes?.isStarted === true,
      isReady: this.#phase.kind === 'running' && this.#probes?.isReady === true,
    };
  }

  get log(): ContainerLog {
    const { container, surroundings } = this.#options;
    return {
      folder: surroundings().files.logFolder(container.name),
      newestAttempt: this.view.restartCount,
      waitingReason: this.#phase.kind === 'waiting' ? this.#phase.reason : undefined,
      live: this.#logFile,
    };
  }

  /** Begins to read what its first attempt will need, while other things of its pod are prepared. */
  readAhead(): void {
    const { context, container, pod } = this.#options;
    this.#references = new References(context.client, pod().metadata.namespace ?? '');
    this.#references.begin(container);
    // its pod may wait for long
    context.clock.after(READ_AHEAD_MS, () => (this.#references = undefined));
  }

  /** Resolves when the container has ended for good. */
  async run(): Promise<void> {
    while (!this.#stopping.signal.aborted && !this.#isOver()) {
      const launch = await this.#prepare();
      if (!launch) break;
      const ranMs = await this.#attempt(launch);
      if (this.#stopping.signal.aborted || this.#isOver()) break;
      await this.#pause(ranMs);
    }
    // stopped between two attempts: reported is how the container ended, not that it waits
    if (this.#phase.kind === 'waiting' && this.#last) this.#set({ kind: 'terminated', result: this.#last });
  }

  /** Its pod will not be started. */
  refuse(message: string): void {
    if (this.#phase.kind !== 'terminated')
      this.#phase = { kind: 'waiting', reason: 'CreateContainerConfigError', message };
  }

  /** Ends it; a process gets `graceMs` to end by itself. Calling again may shorten the grace. */
  async stop(graceMs: number): Promise<void> {
    this.#graceMs = graceMs;
    if (this.#process && !this.#stopping.signal.aborted)
      this.#event('Normal', 'Killing', `Stopping container ${this.#options.container.name}`);
    this.#probes?.stop();
    this.#stopping.abort(new Error('the container is stopping'));
    if (this.#process) await this.#end(this.#process, graceMs);
  }

  /** One that refuses signals, as a program of another user does that it started (`sudo`), is waited for. */
  async #end(process: ContainerProcess, graceMs: number): Promise<void> {
    try {
      await process.stop(graceMs);
    } catch (error) {
      const { name } = this.#options.container;
      const message = `ending container ${name} failed (process ${String(process.pid)}: ${errorText(error)}); end it by hand`;
      this.#event('Warning', 'FailedKillPod', message);
      await process.ended;
    }
  }

  #isOver(): boolean {
    if (this.#phase.kind !== 'terminated') return false;
    switch (this.#options.restartPolicy) {
      case 'Always':
        return false;
      case 'OnFailure':
        return this.#phase.result.exitCode === 0;
      case 'Never':
        return true;
    }
  }

  #set(phase: ContainerPhase): void {
    this.#phase = phase;
    this.#options.onChange();
  }

  /** Prepares the launch; undefined when stopped before everything was available. */
  async #prepare(): Promise<Launch | undefined> {
    const { context, container, pod, surroundings } = this.#options;
    for (let pauseMs = 500; ; pauseMs = Math.min(pauseMs * 2, MAX_CONFIG_PAUSE_MS)) {
      if (this.#stopping.signal.aborted) return undefined;
      try {
        if (this.#restartCount > 0) await this.#options.beforeRestart();
        const left = this.#stopping.signal;
        const references = this.#references;
        this.#references = undefined;
        const inTurn = <T>(step: () => T): Promise<T> => this.#inTurn(step);
        return await prepareLaunch(context, pod(), container, {
          ...surroundings(),
          inTurn,
          left,
          references,
        });
      } catch (error) {
        if (this.#stopping.signal.aborted) return undefined;
        const reason = reasonOf(error);
        const message = errorText(error);
        if (pauseMs === 500) this.#event('Warning', reason === IMAGE_MISSING ? 'Failed' : reason, message);
        this.#set({ kind: 'waiting', reason, message });
        await context.clock.sleep(pauseMs, this.#stopping.signal).catch(() => undefined);
      }
    }
  }

  /**
   * Runs a step when the queue reaches the pod's user, and returns its result. @throws when stopped before
   */
  #inTurn<T>(step: () => T): Promise<T> {
    return containerStarts.start(this.#options.surroundings().user.uid, step, this.#stopping.signal);
  }

  /** Runs the process to its end; answers how long it ran. */
  async #attempt(launch: Launch): Promise<number> {
    const { context, container, surroundings } = this.#options;
    const { clock } = context;
    const { files } = surroundings();
    const messageFile = files.terminationMessageFile(container.name);
    this.#containerId = `process://${randomBytes(16).toString('hex')}`;
    const startedAt = clock.now();
    const startedMs = clock.monotonicMs();
    const log = tried(() => this.#openLog());
    if (log instanceof Error) return this.#startFailed(log, undefined, startedAt);
    const process = await this.#begin(launch, log);
    if (!process) return 0;
    if (process instanceof Error) return this.#startFailed(process, log, startedAt);
    // at once: what it has started by then is looked for
    const releaseCpu = this.#boundCpu(process);
    const unrecorded = tried(() => this.#recordProcess(process.identity));
    if (unrecorded instanceof Error) {
      await this.#end(process, 0); // a full disk: the next life would not find it
      releaseCpu();
      return this.#startFailed(unrecorded, log, startedAt);
    }
    this.#process = process;
    if (process.identity) this.#startProbes(launch);
    const bound = this.#boundMemory(process);
    this.#set({ kind: 'running', startedAt });
    if (this.#stopping.signal.aborted) void this.#end(process, this.#graceMs); // asked while the process was being started
    const exit = await process.ended;
    this.#process = undefined;
    if (exit.unclear) this.#event('Warning', 'ProcessesLeft', unclearText(container.name, exit.unclear));
    if (exit.searchFailure !== undefined)
      context.log.warn(
        { pod: this.#options.pod().metadata.name, container: container.name, problem: exit.searchFailure },
        'looking for what a container left running failed',
      );
    bound.end();
    releaseCpu();
    this.#probes?.stop();
    log.close();
    const logTail = (): string =>
      readLogEnd(attemptFiles(files.logFolder(container.name), this.#restartCount).newest);
    const excess = bound.excess();
    const message = excess ?? exit.startFailure ?? this.#message(messageFile, exit, logTail);
    const result = this.#termination(exit, startedAt, message);
    this.#set({
      kind: 'terminated',
      result: excess === undefined ? result : { ...result, reason: OOM_KILLED },
    });
    return clock.monotonicMs() - startedMs;
  }

  /** Starts the process; undefined when stopped while queued. */
  async #begin(launch: Launch, log: LogFile): Promise<ContainerProcess | Error | undefined> {
    const { pod, context } = this.#options;
    const { clock, tools, spares } = context;
    const begin = (started: StartedProcess): ContainerProcess =>
      new ContainerProcess(launch, started, log, clock);
    const start = (): ContainerProcess | Error => tried(() => begin(startProcess(launch, tools)));
    try {
      this.#stopping.signal.throwIfAborted();
      const spare = await spares.claim(pod().metadata.namespace ?? '', launch);
      // at once: its end would not be seen later
      if (spare) return tried(() => begin(spare));
      return await this.#inTurn(start);
    } catch (error) {
      if (!this.#stopping.signal.aborted) return error instanceof Error ? error : new Error(String(error));
      log.close();
      return undefined;
    }
  }

  /** @returns to be called once all of the container has ended */
  #boundCpu({ pid }: ContainerProcess): () => void {
    const { context, container } = this.#options;
    const cores = cpuLimit(container);
    return cores === undefined || pid === undefined ? () => undefined : context.cpuLimits.bind(pid, cores);
  }

  /** Ends a process that uses more memory than its limit. */
  #boundMemory(process: ContainerProcess): {
    readonly end: () => void;
    readonly excess: () => string | undefined;
  } {
    const { context, container } = this.#options;
    const maxBytes = memoryLimit(container);
    let excess: string | undefined;
    if (maxBytes === undefined || process.pid === undefined)
      return { end: () => undefined, excess: () => undefined };
    const end = context.memoryWatch.watch({
      pid: process.pid,
      maxBytes,
      onExceeded: (usedBytes) => {
        excess = excessText(usedBytes, maxBytes);
        this.#event('Warning', OOM_KILLED, `Container ${container.name} ${excess}`);
        void this.#end(process, 0);
      },
    });
    return { end, excess: () => excess };
  }

  #openLog(): LogFile {
    const { container, context, surroundings } = this.#options;
    const { files } = surroundings();
    files.prepareTerminationMessage(container.name);
    const folder = files.logFolder(container.name);
    this.#logFile = new LogFile(folder, this.#restartCount, context.clock);
    return this.#logFile;
  }

  /** Written at once, so that the node's next life finds what this one started. */
  #recordProcess(identity: ProcessIdentity | undefined): void {
    const { container, surroundings } = this.#options;
    if (!identity) return;
    const record: ProcessRecord = {
      ...identity,
      container: container.name,
      restartCount: this.#restartCount,
    };
    writeWhole(surroundings().files.processFile(container.name), JSON.stringify(record));
    this.#event('Normal', 'Started', `Started container ${container.name}`);
  }

  #startFailed(error: Error, log: LogFile | undefined, startedAt: Date): number {
    log?.close();
    const exit: ProcessExit = { code: 128, startFailure: error.message };
    this.#set({ kind: 'terminated', result: this.#termination(exit, startedAt, error.message) });
    return 0;
  }

  async #pause(ranMs: number): Promise<void> {
    const { container, context } = this.#options;
    const pauseMs = this.#backoff.after(ranMs);
    this.#restarting();
    const of = podText(this.#options.pod());
    const message = `back-off ${durationText(pauseMs)} restarting failed container=${container.name} pod=${of}`;
    this.#set({ kind: 'waiting', reason: 'CrashLoopBackOff', message });
    this.#event('Warning', 'BackOff', `Back-off restarting failed container ${container.name} in pod ${of}`);
    await context.clock.sleep(pauseMs, this.#stopping.signal).catch(() => undefined);
  }

  #restarting(): void {
    if (this.#phase.kind === 'terminated') this.#last = this.#phase.result;
    this.#restartCount++;
  }

  #startProbes(launch: Launch): void {
    const { context, container, pod, surroundings, onChange } = this.#options;
    const { clock, sleepWatch } = context;
    const target = { container, ports: surroundings().ports, launch, tools: context.tools };
    this.#probes = new ContainerProbes({
      target,
      clock,
      sleepWatch,
      onChange,
      onProblem: (probe, found) => this.#event('Warning', 'Unhealthy', `${probe} probe failed: ${found}`),
      onUnhealthy: (kind, probe) => {
        const what = `failed ${kind.toLowerCase()} probe, will be restarted`;
        this.#event('Normal', 'Killing', `Container ${container.name} ${what}`);
        const { terminationGracePeriodSeconds: own } = probe as { terminationGracePeriodSeconds?: number };
        const graceMs = (own ?? pod().spec.terminationGracePeriodSeconds ?? 30) * 1000;
        if (this.#process) void this.#end(this.#process, graceMs);
      },
    });
    this.#probes.start();
  }

  #message(file: string, exit: ProcessExit, logTail: () => string): string {
    const left = readTerminationMessage(file);
    const { terminationMessagePolicy } = this.#options.container as { terminationMessagePolicy?: string };
    if (left !== '' || exit.code === 0 || terminationMessagePolicy !== 'FallbackToLogsOnError') return left;
    return logTail();
  }

  #termination(exit: ProcessExit, startedAt: Date, message: string): Termination {
    return {
      exitCode: exit.code,
      reason: exit.startFailure === undefined ? (exit.code === 0 ? 'Completed' : 'Error') : 'StartError',
      ...(message === '' ? {} : { message }),
      startedAt: kubeTime(startedAt),
      finishedAt: kubeTime(this.#options.context.clock.now()),
    };
  }

  #restore(): void {
    const { before, wasStarted, context } = this.#options;
    if (!before && !wasStarted) return;
    this.#last = before?.lastState?.terminated;
    const isBetween = before?.state?.waiting !== undefined && this.#last !== undefined;
    this.#restartCount = (before?.restartCount ?? 0) + (isBetween ? 1 : 0);
    this.#containerId = before?.containerID;
    const ended = before?.state?.terminated;
    if (!ended && !wasStarted && !before?.state?.running) return;
    const now = kubeTime(context.clock.now());
    const startedAt = before?.state?.running?.startedAt;
    const lost: Termination = {
      exitCode: 137,
      // a kubelet uses this reason too: how the container ended is unknown
      reason: 'ContainerStatusUnknown',
      message: 'The node was restarted while this container ran.',
      ...(startedAt === undefined ? {} : { startedAt }),
      finishedAt: now,
    };
    // between two attempts there was no process to lose
    const result = ended ?? (before?.state?.waiting ? this.#last : undefined) ?? lost;
    this.#phase = { kind: 'terminated', result };
    if (this.#isOver()) return;
    if (!before?.state?.waiting) this.#restarting();
    this.#phase = { kind: 'waiting', reason: 'ContainerCreating' };
  }

  #event(type: 'Normal' | 'Warning', reason: string, message: string): void {
    this.#options.context.events.record(PODS, this.#options.pod(), { type, reason, message });
  }
}

/**
 * The operating system may refuse what a spec says (a NUL in a variable, too many of them), or to write anything: that
 * fails the attempt alone.
 */
function tried<T>(step: () => T): T | Error {
  try {
    return step();
  } catch (error) {
    return error instanceof Error ? error : new Error(errorText(error));
  }
}

/** Maximum number of names in one event. */
const MAX_NAMED = 10;

function unclearText(container: string, pids: readonly number[]): string {
  const named = pids.slice(0, MAX_NAMED).join(', ') + (pids.length > MAX_NAMED ? ', …' : '');
  return (
    `Container ${container} ended beside ${pids.length} processes whose variables cannot be read or that the node may ` +
    `not end (${named}): those that it started may still run; end them, or delete all pods of this service account`
  );
}

/** A pod as the kubelet writes it: `NAME_NAMESPACE(UID)`. */
function podText({ metadata: { name, namespace = '', uid = '' } }: Pod): string {
  return `${name}_${namespace}(${uid})`;
}

/** A duration as Go writes it: `1s`, `1m4s`, `5m0s`. */
function durationText(ms: number): string {
  const seconds = Math.round(ms / 1000);
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`;
}

function reasonOf(error: unknown): string {
  if (error instanceof ImageMissingError) return IMAGE_MISSING;
  const isOfSpec = error instanceof ContainerConfigError || error instanceof ExpansionError;
  return isOfSpec ? 'CreateContainerConfigError' : 'CreateContainerError';
}
