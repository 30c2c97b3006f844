import { cellText, visibleText } from '#lib/command-line';
import { answerLine, askedLine } from '#lib/conversation';
import { isUuid } from '#lib/resources';
import {
  ageText,
  costText,
  errorLine,
  latencyText,
  nameText,
  type ReadRun,
  RestClient,
  RestError,
  RUN_FIELDS,
  timeText,
  tokensText,
  type TreeRow,
  treeRows,
} from '#lib/rest-client';
import { systemClock } from '#lib/time';
import { CommandError } from '../command-error.js';
import { resolveTarget, type TargetFlags } from '../context/target.js';
import { type OutputFormat, print, renderDocument, renderItems, type Shape } from '../output/print-items.js';
import { projectIdOf, projectNames } from '../rest/find-id.js';

/** Filters for runs, in the words of the route. */
interface RunsWanted {
  readonly session?: readonly string[];
  readonly trace?: string;
  readonly is_root?: boolean;
  readonly error?: boolean;
  readonly filter?: string;
  readonly start_time?: string;
  readonly end_time?: string;
  readonly order?: 'asc' | 'desc';
}

export interface RunsFound {
  readonly runs: readonly ReadRun[];
  /** True when more runs exist than were asked for. */
  readonly hasMore: boolean;
}

/** Runs in pages, up to `most`. @param fields beside those of `ReadRun` */
async function readRuns(
  rest: RestClient,
  wanted: RunsWanted,
  most: number,
  fields: readonly string[] = [],
): Promise<RunsFound> {
  const runs: ReadRun[] = [];
  let cursor: string | null = null;
  do {
    const page: { readonly runs: readonly ReadRun[]; readonly cursors: { readonly next: string | null } } =
      await rest.request('POST', '/runs/query', {
        ...wanted,
        select: [...RUN_FIELDS, ...fields],
        limit: most - runs.length,
        ...(cursor === null ? {} : { cursor }),
      });
    runs.push(...page.runs);
    cursor = page.cursors.next;
  } while (cursor !== null && runs.length < most);
  return { runs, hasMore: cursor !== null };
}

/** The id of a trace as logs of OpenTelemetry print it. */
const HEX_ID = /^([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$/i;

/**
 * One run with everything that it holds; of a trace its root.
 * @param named as a UUID, or as 32 hexadecimal digits
 * @throws CommandError `notFound`
 */
async function readWholeRun(rest: RestClient, named: string): Promise<Readonly<Record<string, unknown>>> {
  const id = named.replace(HEX_ID, '$1-$2-$3-$4-$5');
  if (!isUuid(id))
    throw new CommandError('usage', `${id} is no id of a trace or run: "agentplane traces list" shows ids`);
  try {
    return await rest.request('GET', `/runs/${id}`);
  } catch (error) {
    if (error instanceof RestError && error.status === 404)
      throw new CommandError(
        'notFound',
        `no run or trace has the id ${id}: "agentplane traces list" shows those that exist`,
      );
    throw error;
  }
}

/** Flags that select runs. */
export interface TracesFlags extends TargetFlags {
  /** Undefined: of all projects. */
  readonly project: string | undefined;
  readonly filter: string | undefined;
  readonly errors: boolean;
  readonly thread: string | undefined;
  readonly search: string | undefined;
}

export interface TracesListFlags extends TracesFlags {
  readonly last: number | undefined;
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly children: boolean;
  readonly limit: number;
  readonly output: OutputFormat;
}

/** Most runs of one trace that are shown. */
const MOST_OF_TRACE = 5_000;

interface ListedRun extends ReadRun {
  readonly session_id: string;
  readonly inputs?: unknown;
  readonly outputs?: unknown;
}

/** @param projects names by id */
function shapeOf(projects: ReadonlyMap<string, string>): Shape<ListedRun> {
  const now = systemClock.now();
  return {
    nameOf: ({ id }) => id,
    columns: [
      { heading: 'AGE', cell: (run) => ageText(run.start_time, now) },
      { heading: 'STATUS', cell: ({ status }) => status },
      { heading: 'NAME', isWide: true, cell: nameText },
      { heading: 'INPUT', isCut: true, cell: ({ inputs }) => askedLine(inputs) },
      { heading: 'ANSWER', isCut: true, cell: (run) => errorLine(run) || answerLine(run.outputs) },
      { heading: 'PROJECT', cell: ({ session_id: id }) => projects.get(id) ?? '' },
      { heading: 'TIME', cell: ({ latency }) => latencyText(latency) },
      { heading: 'TOKENS', cell: tokensText },
      { heading: 'COST', cell: (run) => costText(run.total_cost) },
      { heading: 'TRACE', isSpare: true, cell: (run) => run.trace_id },
      { heading: 'THREAD', isSpare: true, cell: (run) => run.thread_id ?? '' },
      { heading: 'RUN', isWide: true, cell: ({ id }) => id },
      { heading: 'TYPE', isWide: true, cell: (run) => run.run_type },
      { heading: 'STARTED', isWide: true, cell: (run) => timeText(run.start_time) },
      { heading: 'TAGS', isWide: true, cell: ({ tags }) => tags.join(',') },
    ],
  };
}

const TREE_SHAPE: Shape<TreeRow> = {
  nameOf: ({ run }) => run.id,
  columns: [
    { heading: 'NAME', cell: ({ title }) => title },
    { heading: 'RUN', isWide: true, cell: ({ run }) => run.id },
    { heading: 'TYPE', cell: ({ run }) => run.run_type },
    { heading: 'STATUS', cell: ({ run }) => run.status },
    { heading: 'LATENCY', cell: ({ run }) => latencyText(run.latency) },
    { heading: 'TOKENS', cell: ({ run }) => tokensText(run) },
    { heading: 'COST', cell: ({ run }) => costText(run.total_cost) },
    { heading: 'TIME', cell: ({ bar }) => bar },
    { heading: 'ERROR', cell: ({ run }) => errorLine(run) },
  ],
};

function openRest(flags: TargetFlags): RestClient {
  return new RestClient(resolveTarget(flags).rest);
}

async function wantedBy(
  rest: RestClient,
  { project, filter, errors, thread, search }: TracesFlags,
): Promise<RunsWanted> {
  const conditions = [
    ...(filter === undefined ? [] : [filter]),
    ...(thread === undefined ? [] : [`eq(thread_id, ${JSON.stringify(thread)})`]),
    ...(search === undefined ? [] : [`search(${JSON.stringify(search)})`]),
  ];
  const [only] = conditions;
  return {
    ...(project === undefined ? {} : { session: [await projectIdOf(rest, project)] }),
    ...(only === undefined
      ? {}
      : { filter: conditions.length === 1 ? only : `and(${conditions.join(', ')})` }),
    ...(errors ? { error: true } : {}),
  };
}

/** `agentplane traces list`: the newest first. */
export async function listTraces(flags: TracesListFlags): Promise<void> {
  const { last, from, to, children, limit, output } = flags;
  if (last !== undefined && (from !== undefined || to !== undefined))
    throw new CommandError('usage', 'the time is either --last, or --from and --to');
  const start = last === undefined ? from : new Date(systemClock.now().getTime() - last).toISOString();
  const rest = openRest(flags);
  const { runs, hasMore } = await readRuns(
    rest,
    {
      ...(await wantedBy(rest, flags)),
      ...(children ? {} : { is_root: true }),
      ...(start === undefined ? {} : { start_time: start }),
      ...(to === undefined ? {} : { end_time: to }),
    },
    limit,
    ['session_id', 'inputs', 'outputs'],
  );
  process.stdout.write(
    await renderItems(output, runs as readonly ListedRun[], shapeOf(await projectNames(rest))),
  );
  if (hasMore) process.stderr.write(`These are the newest ${runs.length}; --limit shows more.\n`);
}

/** `agentplane traces show ID`: the trace of a run as a tree. */
export async function showTrace(
  id: string,
  flags: TargetFlags & { readonly values: boolean; readonly output: OutputFormat },
): Promise<void> {
  const rest = openRest(flags);
  const named = await readWholeRun(rest, id);
  const trace = String(named['trace_id']);
  const { runs, hasMore } = await readRuns(rest, { trace, order: 'asc' }, MOST_OF_TRACE);
  const rows = treeRows(runs, systemClock.now().getTime());
  const { output, values } = flags;
  if (output.kind === 'table' || output.kind === 'wide') {
    const project = String(named['session_id']);
    print(`trace ${trace}, project ${(await projectNames(rest)).get(project) ?? project}\n\n`);
    process.stdout.write(await renderItems(output, rows, TREE_SHAPE));
    if (values) await printValues(named);
  } else if (output.kind === 'name') process.stdout.write(await renderItems(output, rows, TREE_SHAPE));
  else process.stdout.write(await renderDocument(output, values ? named : rows.map(({ run }) => run)));
  if (hasMore)
    process.stderr.write(
      `The trace has more than these ${runs.length} runs; those that began first are shown.\n`,
    );
}

/** Inputs, outputs and error of the run that was named. */
async function printValues(run: Readonly<Record<string, unknown>>): Promise<void> {
  for (const name of ['inputs', 'outputs', 'error'] as const) {
    const value = run[name];
    if (value === null || value === undefined) continue;
    const text = typeof value === 'string' ? `${value}\n` : await renderDocument({ kind: 'yaml' }, value);
    print(`\n${name} of ${String(run['name'])}:\n${visibleText(text)}`);
  }
}

/** Pause between two looks. */
const LOOK_MS = 2_000;
/** Runs arrive after they began, and end later: each look goes back so far. */
const LOOK_BACK_MS = 10 * 60_000;
/** Ids that are remembered as printed. */
const MOST_REMEMBERED = 20_000;
const MOST_AT_ONCE = 1_000;

/** `agentplane traces tail`: a line for each trace when it has ended, until Ctrl-C. */
export async function tailTraces(flags: TracesFlags): Promise<number> {
  const rest = openRest(flags);
  const wanted: RunsWanted = { ...(await wantedBy(rest, flags)), is_root: true };
  const begun = systemClock.now().getTime();
  const printed = new Set<string>();
  process.stderr.write('Waiting for traces that end from now on; Ctrl-C ends this.\n');
  for (;;) {
    const from = new Date(systemClock.now().getTime() - LOOK_BACK_MS).toISOString();
    const { runs } = await readRuns(rest, { ...wanted, start_time: from }, MOST_AT_ONCE);
    const ended = runs.filter(
      ({ id, end_time: end }) => end !== null && Date.parse(end) >= begun && !printed.has(id),
    );
    for (const run of [...ended].sort(
      (a, b) => Date.parse(a.end_time ?? '') - Date.parse(b.end_time ?? ''),
    )) {
      printed.add(run.id);
      process.stdout.write(lineOf(run));
    }
    for (const id of printed) {
      if (printed.size <= MOST_REMEMBERED) break;
      printed.delete(id);
    }
    await systemClock.sleep(LOOK_MS);
  }
}

/** One line; columns of a table would need the widest cell of those to come. */
function lineOf(run: ReadRun): string {
  const cells = [
    timeText(run.end_time ?? run.start_time),
    run.trace_id,
    run.status.padEnd(11),
    latencyText(run.latency).padStart(8),
    run.name,
    errorLine(run),
  ];
  return `${cellText(cells.join('  ')).trimEnd()}\n`;
}

/** A tracing project as the REST interface answers it, as far as it is shown. */
interface Project {
  readonly id: string;
  readonly name: string;
  readonly run_count: number | null;
  readonly total_tokens: number | null;
  readonly total_cost: string | null;
  readonly last_run_start_time: string | null;
}

/** The most that one answer holds. */
const PAGE = 100;

const SHAPE: Shape<Project> = {
  nameOf: ({ name }) => name,
  columns: [
    { heading: 'NAME', cell: ({ name }) => name },
    { heading: 'ID', isWide: true, cell: ({ id }) => id },
    { heading: 'RUNS', cell: ({ run_count: count }) => String(count ?? '') },
    { heading: 'TOKENS', cell: ({ total_tokens: tokens }) => String(tokens ?? '') },
    { heading: 'COST', cell: ({ total_cost: cost }) => costText(cost) },
    { heading: 'LAST RUN', cell: ({ last_run_start_time: at }) => (at === null ? '' : timeText(at)) },
  ],
};

/** `agentplane traces projects`: every tracing project, the newest first. */
export async function listProjects({
  output,
  ...flags
}: TargetFlags & { readonly output: OutputFormat }): Promise<void> {
  const rest = new RestClient(resolveTarget(flags).rest);
  const projects: Project[] = [];
  for (let page: readonly Project[] = []; projects.length === 0 || page.length === PAGE;) {
    const path = `/sessions?include_stats=true&limit=${PAGE}&offset=${projects.length}`;
    page = await rest.request<readonly Project[]>('GET', path);
    if (page.length === 0) break;
    projects.push(...page);
  }
  if (projects.length === 0 && output.kind === 'table')
    process.stderr.write(
      'No tracing projects found; a deployment, or the first run sent to one, makes it.\n',
    );
  else process.stdout.write(await renderItems(output, projects, SHAPE));
}
