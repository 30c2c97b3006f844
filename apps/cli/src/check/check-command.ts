import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
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
import { cacheFolder } from '../cache-folder.js';
import { CommandError } from '../command-error.js';
import { checkGraphs } from '../image/check-graphs.js';
import { type OutputFormat, renderItems, type Shape } from '../output/print-items.js';
import { startFakeModels } from './fake-models.js';
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
  const work = makeWorkFolder();
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

/** Not in the folder of all users: code looks for modules in all folders above it, and agents of this machine write there. */
function makeWorkFolder(): string {
  // root's own cache is closed to the users of Postgres and of installations
  const parent = process.getuid?.() === 0 ? '/var/cache' : cacheFolder();
  mkdirSync(parent, { recursive: true });
  const work = mkdtempSync(join(parent, 'agentplane-check-'));
  chmodSync(work, 0o711);
  return work;
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

/** A variable that the sources of an agent name. */
export interface NamedVariable {
  readonly name: string;
  /** The first file that names it. */
  readonly place: string;
}

const SOURCE = /\.(py|[cm]?[jt]s|tsx)$/;
const LEFT_OUT = new Set([
  'node_modules',
  'dist',
  'build',
  'tests',
  '__tests__',
  '__pycache__',
  'site-packages',
]);
const MAX_FILES = 2_000;
/** Ways in which Python and JavaScript read a variable. */
const READS = [
  /\bos\.(?:environ(?:\.get)?|getenv)\s*[[(]\s*["']([A-Z][A-Z0-9_]+)["']/g,
  /\bgetenv\(\s*["']([A-Z][A-Z0-9_]+)["']/g,
  /\bprocess\.env(?:\.|\[["'])([A-Z][A-Z0-9_]+)/g,
  /\b(?:getEnvironmentVariable|SecretStr\.from_env|from_env)\(\s*["']([A-Z][A-Z0-9_]+)["']/g,
];
/** Keys that libraries read, by the words that name the library in a source. */
const OF_LIBRARIES: readonly (readonly [RegExp, string])[] = [
  [/langchain_openai|@langchain\/openai|["']openai[:/]/, 'OPENAI_API_KEY'],
  [/langchain_anthropic|@langchain\/anthropic|["']anthropic[:/]/, 'ANTHROPIC_API_KEY'],
  [/langchain_google_genai|@langchain\/google-genai|["']google_genai[:/]/, 'GOOGLE_API_KEY'],
  [/langchain_groq|@langchain\/groq|["']groq[:/]/, 'GROQ_API_KEY'],
  [/langchain_mistralai|@langchain\/mistralai/, 'MISTRAL_API_KEY'],
  [/langchain_fireworks|["']fireworks[:/]/, 'FIREWORKS_API_KEY'],
  [/langchain_cohere|@langchain\/cohere/, 'COHERE_API_KEY'],
  [/langchain_deepseek/, 'DEEPSEEK_API_KEY'],
  [/\bTavily|tavily/, 'TAVILY_API_KEY'],
];
/** Names of secrets, as opposed to settings. */
const SECRET = /_(KEY|TOKEN|SECRET|PASSWORD)$|^(KEY|TOKEN)$/;

function* sources(folder: string): Generator<string> {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.name.startsWith('.') || LEFT_OUT.has(entry.name)) continue;
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* sources(path);
    else if (entry.isFile() && SOURCE.test(entry.name)) yield path;
  }
}

/** Variables that the sources of an agent read, themselves or through libraries of models. Nothing is run. */
function namedVariables(folder: string): readonly NamedVariable[] {
  const found = new Map<string, string>();
  let files = 0;
  for (const path of sources(folder)) {
    if (++files > MAX_FILES) break;
    const text = readFileSync(path, 'utf8');
    const names = [
      ...READS.flatMap((pattern) => [...text.matchAll(pattern)].map(([, name = '']) => name)),
      ...OF_LIBRARIES.filter(([pattern]) => pattern.test(text)).map(([, name]) => name),
    ];
    for (const name of names) if (!found.has(name)) found.set(name, relative(folder, path));
  }
  const example = join(folder, '.env.example');
  if (existsSync(example))
    for (const [, name = ''] of readFileSync(example, 'utf8').matchAll(/^(?:export )?([A-Z][A-Z0-9_]+)=/gm))
      if (!found.has(name)) found.set(name, '.env.example');
  return [...found].map(([name, place]) => ({ name, place })).sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Variables among them that hold secrets of services. Tracing has keys of the platform. */
export function namedKeys(folder: string): readonly NamedVariable[] {
  return namedVariables(folder).filter(({ name }) => SECRET.test(name) && !/^LANG(CHAIN|SMITH)_/.test(name));
}

/** Names of variables in the text of an error. */
export function missingIn(message: string): readonly string[] {
  const names = message.match(/\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b/g) ?? [];
  return [...new Set(names)].filter((name) =>
    /_(KEY|TOKEN|SECRET|PASSWORD|URL|URI|HOST|ENDPOINT|ID|NAME|USER|INDEX|REGION|BASE|PATH|PORT|EMAIL)$/.test(
      name,
    ),
  );
}
