import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { visibleText } from '#lib/command-line';
import { inheritedEnvironment } from '#lib/config';
import { INSTALLATION } from '#lib/data-folder';
import { startEmbeddedPostgres } from '#lib/embedded-postgres';
import { WaitingError } from '#lib/errors';
import { parseGraphConfiguration } from '#lib/graph-configuration';
import { describeLibraries, openImageStore } from '#lib/image-store';
import { EXIT } from '#lib/lifecycle';
import { createLogger } from '#lib/telemetry';
import { systemClock } from '#lib/time';
import { CommandError } from '../command-error.js';
import { checkGraphs } from '../image/check-graphs.js';
import { type OutputFormat, renderItems, type Shape } from '../output/print-items.js';
import { startFakeModels } from './fake-models.js';
import { namedKeys } from './named-variables.js';
import { TriedAgent, type TriedGraph } from './tried-agent.js';

export interface CheckFlags {
  readonly buildPackages?: boolean;
  readonly output: OutputFormat;
}

const SHAPE: Shape<TriedGraph> = {
  nameOf: ({ graph }) => graph,
  columns: [
    { heading: 'GRAPH', cell: ({ graph }) => graph },
    {
      heading: 'NODES',
      cell: ({ nodes }) => nodes.filter((node) => !node.startsWith('__')).join(', ') || '-',
    },
    { heading: 'INPUT', cell: ({ input }) => input.join(', ') || '-' },
    { heading: 'RUN', cell: ({ run }) => run },
  ],
};

const say = (text: string): boolean => process.stderr.write(`${visibleText(text)}\n`);

/** Something to undo at the end, whatever the end is. */
type Undo = () => unknown;

/** `agentplane check FOLDER`: what an upload would show, before it; the exit code. */
export async function checkFolder(
  given: string,
  { buildPackages = false, output }: CheckFlags,
): Promise<number> {
  const folder = resolve(given);
  const work = mkdtempSync(join(tmpdir(), 'agentplane-check-'));
  // the user of Postgres passes through it
  chmodSync(work, 0o711);
  const undo: Undo[] = [() => rmSync(work, { recursive: true, force: true, maxRetries: 5 })];
  try {
    const agent = await install(folder, work, buildPackages);
    const variables = keysOf(folder);
    const models = await startFakeModels();
    undo.push(() => models.close());
    const log = createLogger('check', 'silent');
    const dataDir = join(work, 'data');
    const postgres = await startEmbeddedPostgres({ dataDir, port: 0, isTied: true, log, clock: systemClock });
    undo.push(() => postgres.stop());
    const uri = await postgres.ensureDatabase({ database: 'agent', role: 'agent' });
    const server = await TriedAgent.start(agent, { ...variables, ...models.environment, POSTGRES_URI: uri });
    undo.push(() => server.stop());
    const found: TriedGraph[] = [];
    for (const { graphId } of graphsOf(agent)) found.push(await server.tryGraph(graphId));
    process.stdout.write(await renderItems(output, found, SHAPE));
    return found.every(({ succeeds }) => succeeds) ? EXIT.ok : EXIT.failed;
  } catch (error) {
    const exit = error instanceof WaitingError ? 'unreachable' : 'failed';
    throw new CommandError(exit, `checking ${given} failed`, { cause: error });
  } finally {
    for (const one of undo.reverse()) await one();
  }
}

function graphsOf(folder: string): readonly { readonly graphId: string }[] {
  const text = readFileSync(join(folder, 'langgraph.json'), 'utf8');
  return parseGraphConfiguration(text, ['javascript', 'python']).graphs;
}

/** Takes the folder into a store of its own; the folder that a revision would run. */
async function install(folder: string, work: string, builds: boolean): Promise<string> {
  await checkGraphs(folder);
  const store = openImageStore({
    folder: join(work, 'images'),
    installation: INSTALLATION,
    clock: systemClock,
  });
  const image = await store.import('check', folder, {
    builds,
    onInstall: () => say('Installing its dependencies …'),
  });
  for (const note of image.notes) say(`Note: ${note}`);
  const found = await store.resolve(image.reference, { namespace: 'check', gid: undefined });
  if (found?.folder === undefined) throw new Error('the image that was just made cannot be found');
  for (const line of describeLibraries(found.folder)) say(line);
  return found.folder;
}

/** Keys that the sources name, with made-up values for those that neither the shell nor `.env` sets; all are named at once. */
function keysOf(folder: string): Record<string, string> {
  const path = join(folder, '.env');
  const file = existsSync(path) ? parseEnv(readFileSync(path, 'utf8')) : {};
  const named = namedKeys(folder);
  const shell = inheritedEnvironment(named.map(({ name }) => name));
  const missing = named.filter(({ name }) => !shell[name] && !file[name]);
  if (missing.length > 0)
    say(
      `Missing keys, made up for this check: ${missing.map(({ name, place }) => `${name} (${place})`).join(', ')}`,
    );
  const made = missing.map(({ name }) => [
    name,
    name.startsWith('ANTHROPIC') ? 'sk-ant-made-up' : 'sk-made-up',
  ]);
  return { ...(file as Record<string, string>), ...Object.fromEntries(made) };
}
