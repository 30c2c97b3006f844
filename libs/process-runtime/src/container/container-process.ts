import type { ChildProcess } from 'node:child_process';
import { constants } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { errorText } from '#lib/errors';
import { findProcess, isRunning, type ProcessIdentity, sendSignal } from '#lib/process-identity';
import type { Clock } from '#lib/time';
import type { LogFile } from '../log/log-file.js';
import { markedProcesses } from '../strays/end-strays.js';
import {
  ATTEMPT_MARKER,
  isAtHome,
  isOfSession,
  NODE_MARKER,
  originOf,
  POD_MARKER,
  type ProcessOrigin,
  statusOf,
} from '../strays/process-status.js';
import type { Launch } from '../user/launch.js';
import { startFailure } from '../user/spawn-request.js';
import type { StartedProcess } from '../spare/start-process.js';
import type { PodUser } from '../user/pod-user.js';

/** `code` is 128 + the signal's number for a process that a signal ended. */
export interface ProcessExit {
  readonly code: number;
  /** Reason why the process could not be started at all. */
  readonly startFailure?: string;
  /** Pids of what it may have left running: nothing shows whose they are, or this process may not end them. */
  readonly unclear?: readonly number[];
  /** Reason why what it left running could not be looked for to the end. */
  readonly searchFailure?: string;
}

/** Result of the search for processes that it left running. */
type Left = Pick<ProcessExit, 'unclear' | 'searchFailure'>;

interface Output {
  readonly name: 'stdout' | 'stderr';
  readonly stream: Readable;
  readonly chunk: string;
}

/** Time for which the output in the pipes of an ended process is awaited. */
const DRAIN_MS = 1_000;
const MAX_ROUNDS = 5;
/** Pause before output is read again, in multiples of the time that writing it to the log took. */
const REST_RATIO = 4;

/**
 * One attempt at a container as a process: leader of a group of its own, so that a Ctrl-C at the terminal does not reach
 * it and its children end with it, whatever groups these made; with a channel that closes when this process dies.
 */
export class ContainerProcess {
  /** All of this process that have not ended. */
  static readonly #running = new Set<ContainerProcess>();
  readonly #child: ChildProcess;
  readonly #clock: Clock;
  readonly #attempt: string;
  readonly #user: PodUser;
  readonly #podFolder: string;
  readonly #origin: ProcessOrigin | undefined;
  #hasEnded = false;
  #writtenMs = 0;
  readonly identity: ProcessIdentity | undefined;
  /** Resolves when the process has ended, its group is killed and its output is in the log. */
  readonly ended: Promise<ProcessExit>;

  constructor(launch: Launch, { child, attempt }: StartedProcess, log: LogFile, clock: Clock) {
    this.#clock = clock;
    this.#child = child;
    this.#attempt = attempt;
    // only its end says something; a channel that is read would take in whatever a process writes
    this.#channel?.on('error', () => undefined);
    const { pid } = this.#child;
    this.identity = pid === undefined ? undefined : findProcess(pid);
    this.#origin = pid === undefined ? undefined : originOf(pid);
    this.#user = launch.user;
    this.#podFolder = join(launch.environment[NODE_MARKER] ?? '', launch.environment[POD_MARKER] ?? '');
    if (pid !== undefined) ContainerProcess.#running.add(this);
    this.ended = this.#watch(launch, log);
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Channel of the process. Without descriptors a process that was not started has no streams at all. */
  get #channel(): ChildProcess['stdio'][3] {
    return (this.#child.stdio as ChildProcess['stdio'] | undefined)?.[3];
  }

  /**
   * Asks the leader to end, and kills the whole group when the time is over.
   * @throws Error when it may not be signalled: it took on the rights of another user
   */
  async stop(graceMs: number): Promise<ProcessExit> {
    const { pid } = this.#child;
    // while what it left is looked for, its number may be given to another process
    if (pid === undefined || this.#hasEnded) return this.ended;
    sendSignal(pid, graceMs > 0 ? 'SIGTERM' : 'SIGKILL', graceMs <= 0);
    const over = new AbortController();
    void this.#clock
      .sleep(graceMs, over.signal)
      .then(() => this.#hasEnded || sendSignal(pid, 'SIGKILL', true))
      .catch(() => undefined);
    const exit = await this.ended;
    over.abort(new Error('the process ended'));
    return exit;
  }

  #watch(launch: Launch, log: LogFile): Promise<ProcessExit> {
    const { promise, resolve } = Promise.withResolvers<ProcessExit>();
    const child = this.#child;
    const { stdout, stderr, pid } = child;
    for (const [name, stream] of [
      ['stdout', stdout],
      ['stderr', stderr],
    ] as const) {
      stream?.setEncoding('utf8');
      stream?.on('data', (chunk: string) => this.#write(log, { name, stream, chunk }));
      stream?.on('error', () => undefined);
    }
    child.on('error', (error) => {
      if (pid === undefined) resolve({ code: 128, startFailure: startFailure(error, launch) });
    });
    child.once('exit', (code, signal) => {
      this.#hasEnded = true;
      ContainerProcess.#running.delete(this);
      for (const stream of [stdout, stderr]) stream?.resume(); // the rest of the output is small
      const killed: Promise<Left> = pid === undefined ? Promise.resolve({}) : this.#killRest(pid);
      this.#channel?.destroy(); // its end would never be seen: the pipe has no reader
      const exit = { code: code ?? 128 + (signal ? constants.signals[signal] : 0) };
      const end = (): void => void killed.then((left) => resolve({ ...exit, ...left }));
      const cancel = this.#clock.after(DRAIN_MS, end);
      child.once('close', () => (cancel(), end()));
    });
    return promise.finally(() => {
      for (const stream of [stdout, stderr, this.#channel]) stream?.destroy();
    });
  }

  /**
   * The node has one thread for all pods, and much output of short lines would take it all. A process whose
   * output takes more than a fifth of the time is slowed down, as by a slow terminal.
   */
  #write(log: LogFile, { name, stream, chunk }: Output): void {
    const startedMs = this.#clock.monotonicMs();
    log.write(name, chunk);
    this.#writtenMs += this.#clock.monotonicMs() - startedMs;
    if (this.#hasEnded || this.#writtenMs < 1) return;
    stream.pause();
    this.#clock.after(this.#writtenMs * REST_RATIO, () => stream.resume());
    this.#writtenMs = 0;
  }

  /**
   * Kills the processes that it left behind: in its group, and in groups of their own (a browser, a daemon).
   * They may still be forking. Never rejects: a machine without memory or descriptors, or a process of
   * another user, is no reason to end anything else.
   */
  async #killRest(pid: number): Promise<Left> {
    const refusing = new Set<number>();
    let unread: readonly number[] = [];
    const left = (): Left => {
      const pids = [...new Set([...unread, ...refusing])];
      return pids.length > 0 ? { unclear: pids } : {};
    };
    const options = {
      clock: this.#clock,
      uid: this.#user.isOwn ? this.#user.uid : undefined,
      isCertain: (other: number) => this.#isCertain(pid, other),
      isLikely: (other: number) => this.#isLikely(other),
    };
    try {
      tryKill(pid, true); // session members that refuse are found below
      for (let round = 0; ; round++) {
        const { marked, unclear } = await markedProcesses(ATTEMPT_MARKER, this.#attempt, options);
        unread = unclear;
        const running = marked.filter((process) => isRunning(process) && !refusing.has(process.pid));
        if (running.length === 0 || round === MAX_ROUNDS) return left();
        for (const process of running) if (!tryKill(process.pid, false)) refusing.add(process.pid);
      }
    } catch (error) {
      return { ...left(), searchFailure: errorText(error) };
    }
  }

  /** No process that was there before is of this attempt, and all of its session are. */
  #isCertain(leader: number, pid: number): boolean | undefined {
    const origin = originOf(pid);
    if (!origin || !this.#origin) return undefined;
    const { startedTicks } = this.#origin;
    if (origin.startedTicks < startedTicks) return false;
    return isOfSession(origin, { pid: leader, startedTicks }) ? true : undefined;
  }

  /**
   * One that keeps its variables from its readers is of this attempt where nothing else runs that could have started it:
   * of its user, or, where others of its user run, of the pod in whose folder it works.
   */
  #isLikely(pid: number): boolean {
    const others = [...ContainerProcess.#running].filter((one) => one.#user.uid === this.#user.uid);
    if (this.#user.isOwn && others.length === 0) return statusOf(pid)?.parent !== process.pid;
    return isAtHome(pid, this.#podFolder) && !others.some((one) => one.#podFolder === this.#podFolder);
  }
}

/** @returns true when this process may end it */
function tryKill(pid: number, group: boolean): boolean {
  try {
    sendSignal(pid, 'SIGKILL', group);
    return true;
  } catch {
    return false;
  }
}
