import { existsSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { visibleLine } from '#lib/command-line';
import { startEmbeddedPostgres } from '#lib/embedded-postgres';
import { errorText } from '#lib/errors';
import { EXIT, type ProgramContext, runProgram } from '#lib/lifecycle';
import { createLogger } from '#lib/telemetry';
import { systemClock } from '#lib/time';
import { urlHost } from '#lib/url';
import { CommandError } from '../command-error.js';
import { agentSettings, devEnvironment } from './dev-environment.js';
import { DevFolder } from './dev-folder.js';
import { renderGreeting } from './dev-greeting.js';
import { DEV_PORT } from './dev-port.js';
import { DevSession, type Outcome } from './dev-session.js';
import { FrontDoor } from './front-door.js';
import { isLoopback } from './page-origins.js';
import { Guardian } from './guardian.js';
import { missingPackages } from './missing-packages.js';
import { renderLogLine } from './render-log-line.js';
import { SourceWatch } from './source-watch.js';

export interface DevFlags {
  readonly port: number | undefined;
  readonly host: string;
  readonly reload: boolean;
  readonly envFile: string | undefined;
}

/** Ports tried after the usual one. */
const MORE_PORTS = 20;

const clock = systemClock;

/** Lines of the agent carry text of its callers. */
function say(line: string): void {
  process.stderr.write(`${visibleLine(line)}\n`);
}

/** Listens on the port that was asked for, or on the usual one or the next that is free. */
async function listen(door: FrontDoor, { port, host }: DevFlags): Promise<number> {
  const last = port === undefined ? DEV_PORT + MORE_PORTS : port;
  for (let tried = port ?? DEV_PORT; ; tried++) {
    try {
      return await door.listen(tried);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE')
        throw new CommandError('failed', `listening on ${host}:${tried} failed: ${errorText(error)}`);
      if (tried >= last)
        throw new CommandError(
          'failed',
          `port ${tried} of ${host} is in use by another program; choose another with --port`,
        );
      say(`port ${tried} is in use by another program; trying ${tried + 1}`);
    }
  }
}

function sayStart(outcome: Outcome): void {
  if (outcome.kind === 'serving') return say(`ready in ${Math.round(outcome.tookMs)} ms`);
  say(`error ${outcome.message}`);
  if (outcome.frame !== undefined) say(outcome.frame);
  say('      every request is answered 503 with this error until it is mended');
}

/** Reloads the agent when something changes that it is made of. */
function watchSources(
  session: () => DevSession,
  folder: string,
  envFile: string | undefined,
): SourceWatch & {
  sources: (files: readonly string[]) => void;
} {
  let sources = new Set<string>();
  const watch = new SourceWatch(
    clock,
    (paths) => {
      const settings = new Set(agentSettings(folder, envFile).files);
      const found = paths.find(
        (path) =>
          sources.has(path) ||
          settings.has(path) ||
          (session().hasFailed && !/\/(\.|__pycache__)/.test(path)),
      );
      if (found === undefined) return;
      say(`${relative(folder, found)} changed, reloading`);
      void session().reload();
    },
    say,
  );
  return Object.assign(watch, {
    sources: (files: readonly string[]) => {
      sources = new Set(files);
      watch.followFiles(files);
    },
  });
}

async function dev(folder: DevFolder, flags: DevFlags, context: ProgramContext): Promise<void> {
  const { agent, data } = folder;
  const log = createLogger('dev', 'warn');
  const key = isLoopback(flags.host) ? undefined : folder.key();
  context.own({ name: 'folder', stop: async () => folder.release() });
  const guardian = context.own(new Guardian());

  const door = context.own(
    new FrontDoor({
      host: flags.host,
      key,
      onAnswer: say,
      clock,
      origins: () => agentSettings(agent, flags.envFile).origins,
      destination: () => session.destination(),
    }),
  );
  const port = await listen(door, flags);
  const url = `http://${urlHost(flags.host)}:${port}`;
  folder.serves(url);

  const { files, graphIds } = agentSettings(agent, flags.envFile);
  process.stdout.write(renderGreeting({ url, key, graphIds, dataFolder: data }));

  let uri = '';
  const watch = watchSources(() => session, agent, flags.envFile);
  const session: DevSession = new DevSession({
    folder: agent,
    environment: () => devEnvironment(agent, { uri, data, envFile: flags.envFile }),
    obstacle: () =>
      flags.envFile !== undefined && !existsSync(flags.envFile)
        ? `--env-file ${flags.envFile} does not exist`
        : missingPackages(agent),
    reloads: flags.reload,
    guardian,
    clock,
    onSources: (found) => watch.sources(found),
    onLine: (line) => {
      const shown = renderLogLine(line, agent);
      if (shown !== undefined) say(shown);
    },
    onStart: (outcome) => sayStart(outcome),
  });
  const postgres = await startEmbeddedPostgres({ dataDir: data, port: 0, isTied: true, log, clock });
  context.own(postgres);
  context.own(session);
  uri = await postgres.ensureDatabase({ database: 'agent', role: 'agent' });
  if (flags.reload) {
    context.own(watch);
    watch.followTree(agent);
    watch.followFiles(files);
  }
  await session.reload();
}

/** `agentplane dev`: serves the agent of a folder until it is stopped. */
export async function runDev(given: string, flags: DevFlags): Promise<undefined> {
  const folder = DevFolder.open(resolve(given));
  // writing to a closed terminal fails; stopping in order matters more
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  const log = createLogger('dev', 'silent');
  runProgram({ log, stopTimeoutMs: 30_000 }, async (context) => {
    try {
      await dev(folder, flags, context);
    } catch (error) {
      if (context.signal.aborted) return;
      say(errorText(error));
      context.stop(EXIT.failed, 'start failed');
    }
  });
  return undefined;
}
