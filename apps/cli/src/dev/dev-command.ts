import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { STAYS, visibleLine } from '#lib/command-line';
import { DEFAULT_DATA, type Lock, readJson, takeLock, writeJson } from '#lib/data-folder';
import { startEmbeddedPostgres } from '#lib/embedded-postgres';
import { errorText } from '#lib/errors';
import { keepGraphTypes } from '#lib/image-store';
import { EXIT, type ProgramContext, runProgram } from '#lib/lifecycle';
import { createLogger } from '#lib/telemetry';
import { systemClock } from '#lib/time';
import { urlHost } from '#lib/url';
import { CommandError } from '../command-error.js';
import { thisProgram } from '../this-program.js';
import { agentSettings, devEnvironment } from './dev-environment.js';
import { DEV_PORT } from './dev-port.js';
import { DevSession, type Outcome, renderLogLine } from './dev-session.js';
import { FrontDoor, isLoopback } from './front-door.js';
import { Guardian } from './guardian.js';
import { missingPackages, pythonOf } from './missing-packages.js';
import { SourceWatch } from './source-watch.js';

export interface GreetingFacts {
  readonly url: string;
  /** Undefined where calls need none. */
  readonly key: string | undefined;
  readonly graphIds: readonly string[];
  readonly dataFolder: string;
}

/** First output of `agentplane dev`; the command can be pasted as it is. */
function renderGreeting({ url, key, graphIds, dataFolder }: GreetingFacts): string {
  const header = key === undefined ? '' : ` -H 'x-api-key: ${key}'`;
  const input = { messages: [{ role: 'user', content: 'hello' }] };
  const body = JSON.stringify({ assistant_id: graphIds[0] ?? 'agent', input });
  return [
    '',
    `  API      ${url}`,
    `  chat     ${url}/chat`,
    `  docs     ${url}/docs`,
    `  Studio   https://smith.langchain.com/studio/?baseUrl=${encodeURIComponent(url)}`,
    `  graphs   ${graphIds.join(', ')}`,
    `  data     ${dataFolder}`,
    '',
    key === undefined
      ? '  Authentication is off: every program of this machine may call, and pages in its browser; no other machine can.'
      : `  Other machines reach this address: every call needs the key ${key}`,
    '',
    '  Try next, in another terminal:',
    ...(key === undefined ? [`    ${thisProgram()} chat --url ${url}`] : []),
    `    curl -s ${url}/runs/wait${header} -H 'content-type: application/json' -d '${body.replaceAll("'", `'\\''`)}'`,
    '',
  ].join('\n');
}

interface Address {
  readonly url: string;
}

/** An agent's folder, and what is kept in it for `agentplane dev`; owned by this process. */
class DevFolder {
  private constructor(
    /** Real path of the agent's folder. */
    readonly agent: string,
    /** Holds the database. */
    readonly data: string,
    private readonly lock: Lock,
  ) {}

  /** @throws CommandError when the folder is no agent's, or another process serves it */
  static open(folder: string): DevFolder {
    if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory())
      throw new CommandError('failed', `${folder} is not a folder`);
    const agent = realpathSync(folder);
    if (!existsSync(join(agent, 'langgraph.json')))
      throw new CommandError(
        'failed',
        `${agent} has no langgraph.json; name an agent's folder, or make one with "agentplane new NAME"`,
      );
    const above = join(agent, DEFAULT_DATA);
    const data = join(above, 'dev');
    // where root runs this, Postgres is another user, who passes through
    mkdirSync(above, { recursive: true, mode: process.getuid?.() === 0 ? 0o711 : 0o700 });
    mkdirSync(data, { recursive: true, mode: 0o700 });
    if (!existsSync(join(above, '.gitignore'))) writeFileSync(join(above, '.gitignore'), '*\n');
    const lock = takeLock(join(data, 'lock'), ({ pid }) => {
      const url =
        readJson<Address>(join(data, 'address.json'))?.url ?? 'an address that it has not chosen yet';
      return `${agent} is served by process ${pid} at ${url}; use that, or stop it first`;
    });
    return new DevFolder(agent, data, lock);
  }

  /** Stores the address for a second session. */
  serves(url: string): void {
    writeJson(join(this.data, 'address.json'), { url });
  }

  /** The key of callers from elsewhere, made once. */
  key(): string {
    const path = join(this.data, 'key.json');
    const known = readJson<{ readonly key: string }>(path);
    if (known) return known.key;
    const key = `dev_${randomBytes(24).toString('base64url')}`;
    writeJson(path, { key });
    return key;
  }

  release(): void {
    rmSync(join(this.data, 'address.json'), { force: true });
    this.lock.release();
  }
}

export interface DevFlags {
  readonly port: number | undefined;
  readonly host: string;
  readonly reload: boolean;
  readonly envFile: string | undefined;
}

/** Ports tried after the usual one. */
const MORE_PORTS = 20;

const clock = systemClock;

/** Every file of the machine may be read: the agent's author runs this. */
const ROOT = '/';

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

/** Reads the types of an agent's graphs beside its server, once more after changes that came meanwhile. */
class TypesOfAgent {
  #reading: Promise<unknown> = Promise.resolve();
  #isAsked = false;

  constructor(private readonly agent: string) {}

  read(): void {
    if (this.#isAsked || pythonOf(this.agent)) return;
    this.#isAsked = true;
    // packages of a monorepo lie above the folder
    this.#reading = this.#reading.then(async () => {
      this.#isAsked = false;
      for (const note of await keepGraphTypes(join(this.agent, 'langgraph.json'), [ROOT], { isFinal: false }))
        say(`note  ${note}`);
    });
  }
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
  const types = new TypesOfAgent(agent);
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
    onStart: (outcome) => {
      sayStart(outcome);
      if (outcome.kind === 'serving') types.read();
    },
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
export async function runDev(given: string, flags: DevFlags): Promise<typeof STAYS> {
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
  return STAYS;
}
