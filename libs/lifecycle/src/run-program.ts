import { adoptEnvironment, ConfigError } from '#lib/config';
import { errorText } from '#lib/errors';
import type { Logger } from '#lib/telemetry';
import { keepProcessAlive, systemClock } from '#lib/time';
import { collectWhenIdle } from './collect-when-idle.js';
import { endProcess } from './end-process.js';

/** Something that was started and can be stopped. */
export interface Stoppable {
  readonly name: string;
  stop(): Promise<void>;
}

/** Argument of a program that is loaded now and starts on its parent's message: loading takes longer than starting. */
export const ON_COMMAND = '--on-command';
/** The message of the parent, with the settings that it did not know before. */
export interface Begin {
  readonly kind: 'begin';
  readonly environment: Readonly<Record<string, string>>;
}

/** Exit codes of every program; docs/reference/cli.md describes them. */
export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  unreachable: 4,
  timedOut: 5,
  refused: 6,
  interrupted: 130,
} as const;

export interface ProgramOptions {
  readonly log: Logger;
  /** Longest time in milliseconds that stopping may take before the process ends anyway. */
  readonly stopTimeoutMs?: number;
  /** Effect of an unhandled rejection; programs that run untrusted code only log it. Default `stop`. */
  readonly unhandledRejections?: 'stop' | 'log';
  /** Exit code after a requested stop. Default 0; other than 0 for work that is then left undone. */
  readonly askedExitCode?: number;
}

/** Argument of `start`: `own` registers parts that must be stopped; the last one is stopped first. */
export interface ProgramContext {
  own<T extends Stoppable>(part: T): T;
  /** Aborted when the program begins to stop. */
  readonly signal: AbortSignal;
  /** Begins an orderly stop with this exit code. */
  readonly stop: (exitCode: number, why: string) => void;
}

/**
 * The life of a program: start, run until it is stopped, stop the owned parts in reverse order, exit.
 *
 * It is stopped by SIGINT or SIGTERM, by `context.stop`, and by the closing of its parent's channel: a child of
 * the supervisor or of the node must not outlive it, even when the parent was killed with SIGKILL. Signals that come
 * again while stopping are ignored, since a terminal and a wrapper may both deliver the same Ctrl-C.
 */
export function runProgram(options: ProgramOptions, start: (context: ProgramContext) => Promise<void>): void {
  const { log, stopTimeoutMs = 20_000, askedExitCode = EXIT.ok } = options;
  const owned: Stoppable[] = [];
  const abort = new AbortController();
  let stopping = false;

  async function stopAll(): Promise<void> {
    for (let part = owned.pop(); part; part = owned.pop()) {
      try {
        await part.stop();
      } catch (error) {
        log.error({ part: part.name, error: errorText(error) }, 'stopping a part failed');
      }
    }
  }

  function stop(exitCode: number, why: string): void {
    if (stopping) return;
    stopping = true;
    log.info({ why }, 'stopping');
    abort.abort(new Error(`the program is stopping: ${why}`));
    systemClock.after(stopTimeoutMs, () => {
      log.error({ stopTimeoutMs }, 'stopping timed out');
      endProcess(exitCode === EXIT.ok ? EXIT.failed : exitCode);
    });
    void stopAll().then(() => endProcess(exitCode));
  }

  process.on('SIGINT', () => stop(askedExitCode, 'interrupted'));
  process.on('SIGTERM', () => stop(askedExitCode, 'SIGTERM'));
  process.on('SIGHUP', () => stop(askedExitCode, 'terminal closed'));
  if (process.channel) {
    process.channel.unref();
    process.on('disconnect', () => stop(EXIT.failed, 'parent process ended'));
  }
  process.on('unhandledRejection', (reason) => {
    log.error({ err: reason }, 'unhandled rejection');
    if (options.unhandledRejections !== 'log') stop(EXIT.failed, 'internal error');
  });
  process.on('uncaughtException', (error) => {
    log.error({ err: error }, 'uncaught exception');
    stop(EXIT.failed, 'internal error');
  });

  const context: ProgramContext = {
    own: (part) => {
      owned.push(part);
      return part;
    },
    signal: abort.signal,
    stop,
  };
  // it ends by `stop` alone, never by running out of things to wait for
  keepProcessAlive();
  collectWhenIdle();
  beginning()
    .then(() => start(context))
    .catch((error: unknown) => {
      if (stopping) return;
      if (error instanceof ConfigError) {
        log.error({ problems: error.problems }, 'configuration rejected');
        stop(EXIT.usage, 'configuration');
      } else {
        log.error({ err: error }, 'start failed');
        stop(EXIT.failed, 'start failed');
      }
    });
}

/** Resolves when this program may start. */
function beginning(): Promise<void> {
  if (!process.channel || !process.argv.includes(ON_COMMAND)) return Promise.resolve();
  return new Promise((resolve) => {
    const listener = (message: Partial<Begin> | null): void => {
      if (message?.kind !== 'begin') return;
      process.off('message', listener);
      adoptEnvironment(message.environment ?? {});
      resolve();
    };
    process.on('message', listener);
  });
}
