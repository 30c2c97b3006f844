import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { constants } from 'node:os';
import type { Readable } from 'node:stream';
import { findProcess, isRunning, type ProcessIdentity, sendSignal } from '#lib/process-identity';
import type { Clock } from '#lib/time';
import type { LogFile } from '../log/log-file.js';
import { markedProcesses } from '../strays/marked-processes.js';
import { ATTEMPT_MARKER } from '../strays/process-marker.js';
import { spawnRequest, startFailure, type Tools } from '../user/spawn-request.js';
import type { Launch } from '../user/launch.js';
import type { PodUser } from '../user/pod-user.js';

/** `code` is 128 + the signal's number for a process that a signal ended. */
export interface ProcessExit {
  readonly code: number;
  /** Why the process could not be started at all. */
  readonly startFailure?: string;
}

interface Output {
  readonly name: 'stdout' | 'stderr';
  readonly stream: Readable;
  readonly chunk: string;
}

/** Node takes this descriptor for the channel to its parent, as if its parent had made one. */
const CHANNEL = { NODE_CHANNEL_FD: '3', NODE_CHANNEL_SERIALIZATION_MODE: 'json' };
/** How long output is awaited that a process left in its pipes when it ended. */
const DRAIN_MS = 1_000;
const MAX_ROUNDS = 5;
/** How long output is left in its pipe, for each millisecond that writing it to the log took. */
const REST_RATIO = 4;

/**
 * One attempt at a container as a process: leader of a group of its own, so that a Ctrl-C at the terminal does not reach
 * it and its children end with it, whatever groups these made; with a channel that closes when this process dies.
 */
export class ContainerProcess {
  readonly #child: ChildProcess;
  readonly #clock: Clock;
  readonly #attempt = randomUUID();
  #hasEnded = false;
  #writtenMs = 0;
  readonly identity: ProcessIdentity | undefined;
  /** Resolves when the process has ended, its group is killed and its output is in the log. */
  readonly ended: Promise<ProcessExit>;

  constructor(launch: Launch, tools: Tools, log: LogFile, clock: Clock) {
    this.#clock = clock;
    const { command, args, options } = spawnRequest(launch, tools);
    const { [ATTEMPT_MARKER]: _claimed, ...others } = options.env ?? {};
    this.#child = spawn(command, args, {
      ...options,
      // the marker first: it is looked for in every process of the user
      env: { [ATTEMPT_MARKER]: this.#attempt, ...others, ...CHANNEL },
      stdio: ['ignore', 'pipe', 'pipe', 'pipe', ...launch.sockets],
      detached: true,
    });
    // only its end says something; a channel that is read would take in whatever a process writes
    this.#child.stdio[3]?.on('error', () => undefined);
    const { pid } = this.#child;
    this.identity = pid === undefined ? undefined : findProcess(pid);
    this.ended = this.#watch(launch, log);
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Asks the leader to end, and kills the whole group when the time is over. */
  async stop(graceMs: number): Promise<ProcessExit> {
    const { pid } = this.#child;
    if (pid === undefined) return this.ended;
    sendSignal(pid, graceMs > 0 ? 'SIGTERM' : 'SIGKILL', graceMs <= 0);
    const over = new AbortController();
    void this.#clock
      .sleep(graceMs, over.signal)
      .then(() => sendSignal(pid, 'SIGKILL', true))
      .catch(() => undefined);
    const exit = await this.ended;
    over.abort(new Error('the process ended'));
    return exit;
  }

  #watch(launch: Launch, log: LogFile): Promise<ProcessExit> {
    const { promise, resolve, reject } = Promise.withResolvers<ProcessExit>();
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
      for (const stream of [stdout, stderr]) stream?.resume(); // what is left is little
      const killed = pid === undefined ? Promise.resolve() : this.#killRest(pid, launch.user);
      child.stdio[3]?.destroy(); // its end would never be seen: nobody reads
      const exit = { code: code ?? 128 + (signal ? constants.signals[signal] : 0) };
      const end = (): void => void killed.then(() => resolve(exit), reject);
      const cancel = this.#clock.after(DRAIN_MS, end);
      child.once('close', () => (cancel(), end()));
    });
    return promise.finally(() => {
      for (const stream of [stdout, stderr, child.stdio[3]]) stream?.destroy();
    });
  }

  /**
   * The node has one thread for all pods, and much output of short lines would take it all. Who writes more than a fifth
   * of the time waits, as before a slow terminal.
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

  /** What it left behind: in its group, and in groups of their own (a browser, a daemon). They may still be forking. */
  async #killRest(pid: number, user: PodUser): Promise<void> {
    sendSignal(pid, 'SIGKILL', true);
    const options = { clock: this.#clock, uid: user.isOwn ? user.uid : undefined };
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const left = (await markedProcesses(ATTEMPT_MARKER, this.#attempt, options)).filter(isRunning);
      if (left.length === 0) return;
      for (const process of left) sendSignal(process.pid, 'SIGKILL', false);
    }
  }
}
