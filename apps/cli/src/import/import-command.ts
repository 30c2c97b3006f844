import { bar } from '#lib/command-line';
import { loadConfig, optionalText } from '#lib/config';
import { exactIntegers, parseExactJson } from '#lib/json';
import { EXIT } from '#lib/lifecycle';
import {
  type PatientRequests,
  patiently,
  readWorkspace,
  type RestAccess,
  RestClient,
  type RestRequests,
} from '#lib/rest-client';
import { systemClock } from '#lib/time';
import { withoutTrailingSlashes } from '#lib/url';
import { CommandError } from '../command-error.js';
import { resolveTarget, type TargetFlags } from '../context/target.js';
import { KEYS_PATH, openKeys } from '../keys/keys-command.js';
import { LiveLines } from '../output/live-lines.js';
import { type OutputFormat, renderItems, type Shape } from '../output/print-items.js';
import { controlPlaneOf, deploymentsPart } from './deployments.js';
import { deploymentIdOf } from '../rest/find-id.js';
import { Destination } from './destination.js';
import { type MovedRow, movePart, type Part, partsOf, type Progress, ProgressFile } from './move.js';
import type { LeftBehind, Source } from './source.js';
import { agentParts } from './sources/agent-server.js';
import { Langfuse } from './sources/langfuse.js';
import { LangSmith } from './sources/langsmith.js';
import { OpenAiEvals } from './sources/openai-evals.js';
import { Phoenix } from './sources/phoenix.js';

export interface ImportFlags extends TargetFlags {
  readonly from: string | undefined;
  readonly apiKeyEnv: string | undefined;
  readonly dryRun: boolean;
  readonly workspace: string | undefined;
  readonly output: OutputFormat;
}

export interface SelectFlags extends ImportFlags {
  readonly deployments?: boolean;
  readonly project: readonly string[];
  readonly since: string | undefined;
  readonly until: string | undefined;
}

/** A large answer of a busy server. */
const TIMEOUT_MS = 120_000;
/** Restarts, updates and limits of a minute pass in it. */
const PATIENCE_MS = 600_000;
const DAY_MS = 86_400_000;

const SHAPE: Shape<MovedRow> = {
  nameOf: ({ kind, name }) => `${kind}/${name}`,
  columns: [
    { heading: 'KIND', cell: ({ kind }) => kind },
    { heading: 'NAME', cell: ({ name }) => name },
    { heading: 'READ', cell: ({ read }) => String(read) },
    { heading: 'WRITTEN', cell: ({ written }) => String(written) },
    { heading: 'REFUSED', cell: ({ refused }) => String(refused) },
    { heading: 'THERE', cell: ({ there }) => (there === null ? '' : String(there)) },
    { heading: 'NOTE', cell: ({ note }) => note },
  ],
};

/** A product with runs and datasets. */
export async function runImport(product: Product, flags: SelectFlags): Promise<number> {
  exactIntegers();
  const from = addressOf(flags.from);
  const source = SOURCES[product](from, flags);
  const { project, since, until } = flags;
  return await intoWorkspace(flags, [product, from, ...project, since, until], {
    async *parts(rest) {
      yield* partsOf(source, new Destination(rest, product));
      if (flags.deployments) yield deploymentsPart(openLangSmith(controlPlaneOf(from), flags), rest);
    },
    leftBehind: () => source.leftBehind(),
  });
}

type Product = 'langsmith' | 'langfuse' | 'openai-evals' | 'phoenix';

export interface AgentFlags extends ImportFlags {
  readonly to: string | undefined;
}

/** `agentplane import langgraph`: an agent server into a deployment here. */
export async function importAgent(flags: AgentFlags): Promise<number> {
  exactIntegers();
  const { to, apiKeyEnv } = flags;
  if (to === undefined)
    throw new CommandError(
      'usage',
      'import langgraph needs --to: the deployment here that has the same graphs',
    );
  const url = addressOf(flags.from);
  const key = apiKeyEnv === undefined ? variable('LANGSMITH_API_KEY') : keyOf(apiKeyEnv);
  const from = open({ url, ...(key === undefined ? {} : { key }) });
  return await intoWorkspace(flags, ['langgraph', url, to], {
    async *parts(rest, access) {
      const id = await deploymentIdOf(rest, to);
      const { url: there } = await rest.request<{ readonly url: string | null }>(
        'GET',
        `/v2/deployments/${id}`,
      );
      if (there === null)
        throw new CommandError('failed', `deployment ${to} has no address yet: see agentplane status`);
      yield* agentParts({ from, to: open({ ...access, url: there }) });
    },
    leftBehind: () => Promise.resolve([]),
  });
}

const SOURCES: Readonly<Record<Product, (from: string, flags: SelectFlags) => Source>> = {
  phoenix(from, { apiKeyEnv, project, since, until }) {
    // a server without authentication wants no key
    const key = apiKeyEnv === undefined ? variable('PHOENIX_API_KEY') : keyOf(apiKeyEnv);
    const rest = open({ url: from, ...(key === undefined ? {} : { authorization: `Bearer ${key}` }) });
    return new Phoenix({ rest, from, since, until, projects: project });
  },

  langfuse(from, { project, since, until }) {
    const pair = `${keyOf('LANGFUSE_PUBLIC_KEY')}:${keyOf('LANGFUSE_SECRET_KEY')}`;
    const rest = open({ url: from, authorization: `Basic ${Buffer.from(pair).toString('base64')}` });
    return new Langfuse({ rest, from, since, until, projects: project });
  },

  'openai-evals'(from, { apiKeyEnv, project, since, until }) {
    const rest = open({ url: from, authorization: `Bearer ${keyOf(apiKeyEnv ?? 'OPENAI_API_KEY')}` });
    return new OpenAiEvals({ rest, from, since, until, projects: project });
  },

  langsmith(from, flags) {
    const { project, since, until, dryRun } = flags;
    const rest = openLangSmith(from, flags);
    // signed addresses, or paths of the source itself
    const signed = (address: string): readonly [PatientRequests, string] => {
      const { origin, pathname, search } = new URL(address, from);
      return [open({ url: origin }), pathname + search];
    };
    return new LangSmith({
      rest,
      open(address) {
        const [there, path] = signed(address);
        return there.request('GET', path);
      },
      openBytes(address) {
        const [there, path] = signed(address);
        return there.bytes(path);
      },
      since,
      until,
      projects: project,
      isCountOnly: dryRun,
    });
  },
};

function openLangSmith(url: string, { apiKeyEnv }: ImportFlags): RestRequests {
  const tenantId = variable('LANGSMITH_WORKSPACE_ID');
  const key = keyOf(apiKeyEnv ?? 'LANGSMITH_API_KEY');
  return open({ url, key, ...(tenantId === undefined ? {} : { tenantId }) });
}

interface Move {
  readonly parts: (rest: RestRequests, access: RestAccess) => AsyncIterable<Part>;
  readonly leftBehind: () => Promise<readonly LeftBehind[]>;
}

/** Moves all parts, then prints what came of each. @param identity what makes it the same import when it is started again */
async function intoWorkspace(
  flags: ImportFlags,
  identity: readonly (string | undefined)[],
  { parts, leftBehind }: Move,
): Promise<number> {
  const rows: MovedRow[] = [];
  await withWorkspace(flags, async (access, rest) => {
    const place = [access.url, flags.workspace];
    const file = flags.dryRun ? undefined : new ProgressFile([...identity, ...place]);
    try {
      if (file?.isContinued) process.stderr.write('Continues an import that was interrupted.\n');
      if (file) await noteRetention(rest);
      const show = process.stderr.isTTY ? barPrinter() : linePrinter();
      for await (const part of parts(rest, access)) rows.push(...(await movePart(part, { file, show })));
      for (const { kind, count, note } of await leftBehind())
        if (count > 0) rows.push({ ...ABSENT, kind, read: count, note: `has no place here: ${note}` });
      file?.finish();
    } finally {
      file?.release();
    }
  });
  process.stdout.write(await renderItems(flags.output, rows, SHAPE));
  const refused = rows.reduce((sum, row) => sum + row.refused, 0);
  if (refused === 0) return EXIT.ok;
  process.stderr.write(`${refused} were refused; GET /ingest-problems says why.\n`);
  return EXIT.failed;
}

const ABSENT = { name: '', written: 0, refused: 0, there: null };

/** The key is that of the target, or, for another workspace of the data folder, one that expires after a day. */
async function withWorkspace(
  flags: ImportFlags,
  work: (access: RestAccess, rest: RestRequests) => Promise<void>,
): Promise<void> {
  const { rest: access } = resolveTarget(flags);
  if (flags.workspace === undefined) return await work(access, open(access));
  const keys = await openKeys(flags);
  const made = await keys.request<{ readonly id: string; readonly key: string }>('POST', KEYS_PATH, {
    description: 'agentplane import',
    scope: 'workspace',
    expires_at: new Date(systemClock.now().getTime() + DAY_MS).toISOString(),
  });
  try {
    const own = { ...access, key: made.key };
    await work(own, open(own));
  } finally {
    await keys.request('DELETE', `${KEYS_PATH}/${made.id}`);
  }
}

function open(access: RestAccess): PatientRequests {
  const options = { timeoutMs: TIMEOUT_MS, parse: parseExactJson };
  return patiently(new RestClient(access, options), { forMs: PATIENCE_MS });
}

/** @throws CommandError `usage` */
function addressOf(from: string | undefined): string {
  if (from !== undefined && /^https?:$/.test(URL.parse(from)?.protocol ?? '') && !/[?#@]/.test(from))
    return withoutTrailingSlashes(from);
  throw new CommandError(
    'usage',
    '--from must be the http or https address of the source, without a key in it',
  );
}

function variable(name: string): string | undefined {
  return loadConfig({ value: optionalText(name, 'of the source of an import', { secret: true }) }).value;
}

/** @throws CommandError `usage` that names the variable */
function keyOf(name: string): string {
  const key = variable(name);
  if (key !== undefined) return key;
  throw new CommandError(
    'usage',
    `the key of the source is missing: put it into the environment variable ${name}, or name another one with --api-key-env`,
  );
}

/** Age counts from the start of a run, so old ones may go at once. */
async function noteRetention(rest: RestRequests): Promise<void> {
  const { retention, name } = await readWorkspace(rest);
  if (retention === null) return;
  const days = Math.min(...[retention.shortlived_days, retention.longlived_days].filter((one) => one > 0));
  if (Number.isFinite(days))
    process.stderr.write(
      `Note: workspace ${name} removes traces ${days} days after they began, also those that are imported; spec.retention of the Workspace changes it.\n`,
    );
}

const BAR = 20;

/** Lines of the parts so far, the one at work at the bottom. */
function barPrinter(): (part: Part, progress: Progress) => void {
  const lines = new LiveLines(process.stderr);
  const shown = new Map<string, string>();
  return (part, progress) => {
    const [first] = Object.values(progress.tallies);
    const done = progress.isDone ? 1 : part.total ? (first?.read ?? 0) / part.total : 0;
    shown.set(part.key, `${bar(done, BAR)}  ${lineOf(part, progress)}`);
    lines.show([...shown.values()].slice(-lines.most));
  };
}

function linePrinter(): (part: Part, progress: Progress) => void {
  return (part, progress) => {
    if (progress.isDone) process.stderr.write(`${lineOf(part, progress)}\n`);
  };
}

function lineOf(part: Part, { tallies }: Progress): string {
  const counts = Object.entries(tallies).filter(([, { read }]) => read > 0);
  return `${part.title}: ${counts.map(([kind, { read }]) => `${read} ${kind}`).join(', ') || 'nothing yet'}`;
}
