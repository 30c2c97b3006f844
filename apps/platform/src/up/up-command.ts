import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { INSTALLATION, readCertificateFacts } from '#lib/data-folder';
import { errorText } from '#lib/errors';
import { EXIT, type ProgramContext, runProgram } from '#lib/lifecycle';
import { SHARED_USER_MESSAGE } from '#lib/resources';
import { createLogger, type Logger } from '#lib/telemetry';
import { systemClock } from '#lib/time';
import { type DataFolder, openDataFolder } from '../data-folder/data-folder.js';
import { renderGreeting } from './greeting.js';
import { Platform } from './platform.js';
import { Progress } from './progress.js';
import { parseUpOptions, type UpFlags, type UpOptions } from './up-options.js';

async function up(
  options: UpOptions,
  folder: DataFolder,
  log: Logger,
  context: ProgramContext,
): Promise<void> {
  const clock = systemClock;
  // writing to a closed terminal fails; stopping in order matters more
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  const startedMs = clock.monotonicMs();
  const progress = new Progress(process.stderr);
  let lastWord = 'Stopped.\n';
  context.own({
    name: 'data folder',
    stop: () => {
      folder.release();
      progress.done();
      process.stderr.write(lastWord);
      return Promise.resolve();
    },
  });
  // a terminal shows the ^C and leaves the line unfinished
  context.signal.addEventListener('abort', () => progress.say('stopping', true), { once: true });
  try {
    const platform = new Platform({
      options,
      folder,
      installation: INSTALLATION,
      clock,
      log,
      progress,
      context,
    });
    const credentials = await platform.start();
    const { tls } = credentials;
    progress.done();
    process.stdout.write(
      renderGreeting(credentials, {
        ...(tls ? { tls: { ...tls, fingerprint: readCertificateFacts(tls.certificate).fingerprint } } : {}),
        olderKeys: platform.olderKeys,
        troubles: platform.troubles,
        warnings: sharesUser() ? [SHARED_USER_MESSAGE] : [],
        dataFolder: folder.paths.root,
        installation: INSTALLATION,
        here: process.cwd(),
        tookMs: clock.monotonicMs() - startedMs,
      }),
    );
  } catch (error) {
    if (!context.signal.aborted)
      lastWord = `agentplane up failed: ${errorText(error)}\nThe logs are in ${folder.paths.logs}.\n`;
    throw error;
  }
}

/** True when pods have the user of this process: only root on Linux can give them others. */
function sharesUser(): boolean {
  return process.platform !== 'linux' || process.getuid?.() !== 0;
}

/** The result, or the end of the process with the error's message and this code. */
function orExit<T>(code: number, attempt: () => T): T {
  try {
    return attempt();
  } catch (error) {
    process.stderr.write(`${errorText(error)}\n`);
    process.exit(code);
  }
}

/** `agentplane up`: starts the platform over a data folder and stays until it is stopped. */
export function runUp(flags: UpFlags): void {
  process.umask(0o077); // the umask applies to every program that it starts too
  const options = orExit(EXIT.usage, () => parseUpOptions(flags));
  const folder = orExit(EXIT.failed, () => openDataFolder(options.dataFolder));
  // the supervisor logs to a file beside the other logs; the terminal is for people
  const output = openSync(join(folder.paths.logs, 'up.log'), 'a', 0o600);
  const log = createLogger('up', 'info', output);
  process.once('exit', () => closeSync(output));
  runProgram({ log, stopTimeoutMs: 60_000 }, (context) => up(options, folder, log, context));
}
