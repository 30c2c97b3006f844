import { type ChildProcess, spawn } from 'node:child_process';
import {
  closeSync,
  copyFileSync,
  fstatSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
} from 'node:fs';
import { join } from 'node:path';
import { readJson, writeJson } from '#lib/data-folder';
import type { HeldSockets } from '#lib/held-sockets';
import { type Begin, ON_COMMAND, type Stoppable } from '#lib/lifecycle';
import { endProcess, findProcess, isRunning, type ProcessIdentity } from '#lib/process-identity';
import { type Logger, metrics, type Program } from '#lib/telemetry';
import { Backoff, type Clock } from '#lib/time';
import { errorText } from '#lib/errors';

/** No more than this is looked at, from the end. */
const TAIL_BYTES = 65_536;

interface LogLine {
  readonly level?: unknown;
  readonly msg?: unknown;
  readonly error?: unknown;
  readonly err?: { readonly message?: unknown };
}

function messageOf(text: string): string | undefined {
  let line: LogLine;
  try {
    line = JSON.parse(text) as LogLine;
  } catch {
    return undefined; // a program's own output, or half a line
  }
  if (line.level !== 'error' && line.level !== 'fatal') return undefined;
  const words = [line.err?.message, line.error, line.msg].find((one) => typeof one === 'string');
  return words;
}

/**
 * Text of the last error in a program's log.
 * @param start bytes of the file that are older and not looked at
 */
export function lastErrorIn(logFile: string, start: number): string | undefined {
  let bytes: Buffer;
  try {
    bytes = readFileSync(logFile);
  } catch {
    return undefined;
  }
  const tail = bytes.subarray(Math.max(start, bytes.length - TAIL_BYTES)).toString('utf8');
  for (const line of tail.split('\n').reverse()) {
    const message = messageOf(line);
    if (message !== undefined) return message;
  }
  return undefined;
}

export interface ProgramRequest {
  /** Path of the program. */
  readonly program: string;
  readonly arguments?: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly nodeOptions?: readonly string[];
  /** Its standard output and error are appended here. */
  readonly logFile: string;
  /** Held while no process of it runs; it may deposit more. */
  readonly sockets?: HeldSockets | undefined;
}

export interface SpawnedProgram {
  readonly child: ChildProcess;
  /** Undefined when it could not be started, or has ended already. */
  readonly identity: ProcessIdentity | undefined;
  /** Bytes of the log file that are older. */
  readonly logStart: number;
}

/** Starts a program as leader of a process group of its own, with a channel that closes when this process dies. */
export function spawnProgram(request: ProgramRequest): SpawnedProgram {
  const { program, environment, nodeOptions = [], logFile } = request;
  const output = openSync(logFile, 'a', 0o600);
  const logStart = fstatSync(output).size;
  const stdio = ['ignore', output, output, 'ipc'] as const;
  const held = request.sockets?.inheritance(request.sockets.ports, stdio.length);
  const child = spawn(process.execPath, [...nodeOptions, program, ...(request.arguments ?? [])], {
    detached: true,
    stdio: [...stdio, ...(held?.stdio ?? [])],
    env: { ...environment, ...held?.environment },
  });
  request.sockets?.follow(child);
  closeSync(output);
  return { child, identity: child.pid === undefined ? undefined : findProcess(child.pid), logStart };
}

/** Counts the processes of a program: to be called with whether one runs, whenever that changes. */
export function observeProgram(program: Program): (isRunning: boolean) => void {
  let starts = 0;
  metrics.programUp.set(0, { program });
  return (isRunning) => {
    metrics.programUp.set(isRunning ? 1 : 0, { program });
    if (isRunning && starts++ > 0) metrics.programRestarts.add(1, { program });
  };
}

type Records = Readonly<Record<string, ProcessIdentity>>;

/** The programs that were started, by name, so that a start after a crash finds those that are still there. */
export class ProcessRecords {
  #records: Records;

  constructor(private readonly path: string) {
    this.#records = readJson<Records>(path) ?? {};
  }

  set(name: string, identity: ProcessIdentity | undefined): void {
    const others = Object.entries(this.#records).filter(([one]) => one !== name);
    this.#records = Object.fromEntries(identity ? [...others, [name, identity]] : others);
    try {
      writeJson(this.path, this.#records);
    } catch {
      // a full disk must not end the supervisor: the next change writes them all, and until then only a crash misses them
    }
  }

  /**
   * Ends whatever an earlier life left running. A child whose loop is blocked never sees its channel close, and a second
   * copy of it must not start beside it.
   */
  async endStrays(clock: Clock, log: Logger): Promise<void> {
    for (const [name, identity] of Object.entries(this.#records)) {
      if (isRunning(identity)) {
        log.warn(
          { program: name, pid: identity.pid },
          'stopping a program that an earlier start left running',
        );
        await endProcess(identity, { clock, graceMs: 3_000, group: true });
      }
      this.set(name, undefined);
    }
  }
}

export interface ChildOptions extends Omit<ProgramRequest, 'arguments'> {
  readonly name: string;
  /** Longest time it may take to stop, milliseconds. */
  readonly stopMs: number;
  readonly clock: Clock;
  readonly log: Logger;
  /** Called whenever its process changes, so that a later start can find it. */
  readonly onProcess: (identity: ProcessIdentity | undefined) => void;
}

/** Pauses without jitter: one machine has one supervisor. */
const PAUSES = { firstMs: 200, longestMs: 10_000, jitter: 0 };
/** One that ran this long begins its pauses anew. */
const STEADY_MS = 30_000;
/** One that ended by itself this often, each time before it was steady, will not come up by trying. */
const HOPELESS_ENDS = 3;

/**
 * One program of the platform, started again when it dies. It may be loaded before it is started: loading is
 * most of a start, and needs nothing that runs.
 *
 * It leads a process group of its own, so that an interrupt typed at the terminal reaches only the
 * supervisor, which stops the children in order. It ends by itself when the channel closes, also when the
 * supervisor was killed.
 */
export class Child {
  readonly name: string;
  /** Environment for the next start of its process. */
  environment: Readonly<Record<string, string>>;
  #identity: ProcessIdentity | undefined;
  #isStopping = false;
  readonly #backoff: Backoff;
  #cancelRestart: () => void = () => undefined;
  #messages: ((message: unknown) => void)[] = [];
  #ends = 0;
  /** The process that is loaded and not started yet. */
  #loaded: ChildProcess | undefined;
  #logStart: number | undefined;
  #given: ((error: Error) => void)[] = [];

  constructor(private readonly options: ChildOptions) {
    this.name = options.name;
    this.environment = options.environment;
    this.#backoff = new Backoff(options.clock, PAUSES);
  }

  get pid(): number | undefined {
    return this.#identity?.pid;
  }

  /** Loads it; `start` then only says that it may begin, and with which environment. */
  load(): void {
    if (this.#isStopping) return;
    this.#loaded = this.#spawn([ON_COMMAND]);
  }

  /** Does nothing once it was stopped: a start that is interrupted may still be on its way to here. */
  start(): void {
    if (this.#isStopping) return;
    const loaded = this.#loaded;
    this.#loaded = undefined;
    // should it just be ending, its end starts it again
    const begin: Begin = { kind: 'begin', environment: this.environment };
    if (loaded) loaded.send(begin, () => undefined);
    else this.#spawn([]);
  }

  #spawn(words: readonly string[]): ChildProcess {
    const { clock, log } = this.options;
    const request = { ...this.options, environment: this.environment, arguments: words };
    const { child, identity, logStart } = spawnProgram(request);
    this.#logStart ??= logStart;
    this.#identity = identity;
    this.options.onProcess(identity);
    const startedMs = clock.monotonicMs();
    child.on('message', (message) => {
      for (const listener of this.#messages) listener(message);
    });
    child.once('error', (error) => log.error({ child: this.name, err: error }, 'starting a program failed'));
    child.once('exit', (code, signal) => this.#ended(code, signal, clock.monotonicMs() - startedMs));
    return child;
  }

  /** The first message from the child that the parser understands. Rejects when it takes longer than `timeoutMs`. */
  message<T>(parse: (message: unknown) => T | undefined, timeoutMs: number): Promise<T> {
    return new Promise((resolve, reject) => {
      const listener = (message: unknown): void => {
        const parsed = parse(message);
        if (parsed === undefined) return;
        cancel();
        this.#messages = this.#messages.filter((one) => one !== listener);
        resolve(parsed);
      };
      const cancel = this.options.clock.after(timeoutMs, () =>
        reject(
          new Error(`${this.name} did not start within ${timeoutMs / 1000} s; see ${this.options.logFile}`),
        ),
      );
      this.#messages.push(listener);
    });
  }

  /** Rejects when it ended again and again before it ran steadily, with the last error of its log. Never resolves. */
  hopeless(): Promise<never> {
    return new Promise((_, reject) => {
      this.#given.push(reject);
    });
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#cancelRestart();
    if (this.#identity)
      await endProcess(this.#identity, {
        clock: this.options.clock,
        graceMs: this.options.stopMs,
        group: true,
      });
    this.options.onProcess(undefined);
  }

  #ended(code: number | null, signal: NodeJS.Signals | null, ranMs: number): void {
    if (this.#isStopping) return;
    const { log, clock, onProcess } = this.options;
    onProcess(undefined);
    // asked to end by a signal, it ended in order, which is no failure: the sender wants it back
    if (ranMs > STEADY_MS || code === 0) {
      this.#backoff.reset();
      this.#ends = 0;
    }
    if (++this.#ends === HOPELESS_ENDS) this.#giveUp(code, signal);
    const pauseMs = this.#backoff.nextMs();
    log.warn({ child: this.name, code, signal, restartInMs: pauseMs }, 'a program exited; restarting');
    this.#cancelRestart = clock.after(pauseMs, () => {
      // a loaded process that ended before its start is loaded again, unless it was started since
      if (this.#loaded) this.load();
      else this.#spawn([]);
    });
  }

  /** It is still restarted; only callers that wait for it learn of this. */
  #giveUp(code: number | null, signal: NodeJS.Signals | null): void {
    const { logFile } = this.options;
    const why = lastErrorIn(logFile, this.#logStart ?? 0) ?? `it ended with ${signal ?? `exit code ${code}`}`;
    const error = new Error(`starting ${this.name} failed: ${why}`);
    for (const reject of this.#given.splice(0)) reject(error);
  }
}

/** A log file and the one before it: so the logs of one program take at most twice this. */
const MAX_BYTES = 16 * 1024 ** 2;
const LOOK_EVERY_MS = 60_000;
/** The audit log sees to its own files. */
const ROTATED = /^(?!audit-).*\.log$/;

/**
 * Limits the growth of the logs of the platform's programs. The programs hold their files open for appending,
 * so a long one is copied to `NAME.log.1` and truncated: the next write begins at its start. Lines written
 * between the two are lost.
 */
export class LogRotation implements Stoppable {
  readonly name = 'log rotation';
  #cancel: () => void = () => undefined;

  constructor(
    private readonly folder: string,
    private readonly clock: Clock,
    private readonly log: Logger,
  ) {}

  start(): void {
    this.#look();
    this.#cancel = this.clock.after(LOOK_EVERY_MS, () => this.start());
  }

  stop(): Promise<void> {
    this.#cancel();
    return Promise.resolve();
  }

  #look(): void {
    for (const name of readdirSync(this.folder).filter((one) => ROTATED.test(one))) {
      const path = join(this.folder, name);
      try {
        if (statSync(path).size > MAX_BYTES) this.#rotate(path);
      } catch (error) {
        this.log.warn({ path, problem: errorText(error) }, 'rotating a log failed');
      }
    }
  }

  #rotate(path: string): void {
    const former = `${path}.1`;
    try {
      copyFileSync(path, former);
    } catch (error) {
      // on a full disk free space is worth more than old lines
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      rmSync(former, { force: true });
    }
    truncateSync(path);
    this.log.info({ path }, 'log rotated');
  }
}
