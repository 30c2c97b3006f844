import { closeSync, openSync } from 'node:fs';
import { join, relative } from 'node:path';
import { programWords, shellWord, visibleText } from '#lib/command-line';
import {
  INSTALLATION,
  type PlatformCredentials,
  readCertificateFacts,
  type TlsAddress,
} from '#lib/data-folder';
import { errorText } from '#lib/errors';
import { endProcess, EXIT, type ProgramContext, runProgram } from '#lib/lifecycle';
import { SHARED_USER_MESSAGE } from '#lib/resources';
import { createLogger, type Logger } from '#lib/telemetry';
import { systemClock } from '#lib/time';
import { type DataFolder, openDataFolder } from '../data-folder/data-folder.js';
import type { OlderKey } from '../preparation/preparation-tasks.js';
import { Platform } from './platform.js';
import { Progress } from './preparation.js';
import { parseUpOptions, type UpFlags, type UpOptions } from './up-options.js';

const MAX_TROUBLE = 500;

export interface GreetingPlaces {
  /** Keys of a lost `credentials.json` that still work. */
  readonly olderKeys?: readonly OlderKey[];
  /** Parts of workspaces that could not be prepared. */
  readonly troubles?: readonly string[];
  /** Open access on this machine, and the way to close it. */
  readonly warnings?: readonly string[];
  /** Address for other machines. */
  readonly tls?: TlsAddress & { readonly fingerprint: string };
  readonly dataFolder: string;
  readonly installation: string;
  /** The folder that the commands will be typed in, most likely. */
  readonly here: string;
  readonly tookMs: number;
}

/**
 * Output of the platform when it is up; the last line begins with `Ready`. Every command can be pasted as it
 * is.
 */
export function renderGreeting(
  credentials: PlatformCredentials,
  {
    dataFolder,
    installation,
    here,
    tookMs,
    tls,
    olderKeys = [],
    troubles = [],
    warnings = [],
  }: GreetingPlaces,
): string {
  const near = (path: string): string => {
    const short = relative(here, path);
    return short.startsWith('..') ? path : short;
  };
  const agentplane = programWords({ here, installation });
  const data = near(dataFolder) === '.agentplane' ? '' : ` --data ${shellWord(dataFolder)}`;
  return [
    '',
    `  console     ${credentials.restUrl}/console`,
    `  REST        ${credentials.restUrl}`,
    ...(tls
      ? [`  for others  ${tls.url}`, `  certificate ${tls.certificate}`, `  SHA-256     ${tls.fingerprint}`]
      : []),
    `  API key     ${credentials.apiKey}`,
    `  tenant      ${credentials.tenantId}`,
    `  kubeconfig  ${credentials.kubeconfig}`,
    `  data        ${dataFolder}`,
    '',
    ...olderKeys.flatMap(({ id, createdAt }) => [
      `  Key ${id} of ${createdAt.slice(0, 10)}, from an earlier credentials.json, still works; revoke it with`,
      `    ${agentplane} keys revoke ${id}${data}`,
    ]),
    ...(olderKeys.length > 0 ? [''] : []),
    // tenants write parts of these
    ...troubles.map((trouble) => `  Not prepared: ${shortLine(trouble)}`),
    ...(troubles.length > 0 ? [''] : []),
    ...warnings.map((warning) => `  Note: ${warning}`),
    ...(warnings.length > 0 ? [''] : []),
    '  Try next, in another terminal:',
    `    export KUBECONFIG=${shellWord(credentials.kubeconfig)}`,
    `    kubectl apply -f ${shellWord(near(join(installation, 'examples', 'deployment.yaml')))}`,
    `    ${agentplane} dashboard${data}`,
    '',
    `Ready in ${(tookMs / 1000).toFixed(1)} s. Ctrl-C stops everything.`,
    '',
  ].join('\n');
}

function shortLine(text: string): string {
  return visibleText(text.replaceAll(/\s+/g, ' ').slice(0, MAX_TROUBLE));
}

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
    endProcess(code);
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
