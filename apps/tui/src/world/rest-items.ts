import type { Change } from '#lib/kube';
import { errorText } from '#lib/errors';
import { answerLine, askedLine } from '#lib/conversation';
import { type ReadRun, type RestRequests, RUN_FIELDS, treeRows } from '#lib/rest-client';
import type { Clock } from '#lib/time';
import type { Item, RestList, RestQuery, Source, StepItem, ThreadItem, TraceItem } from './items.js';
import type { StoppableItems } from './kube-world.js';

const READ_MS = 3_000;
const MOST_TRACES = 100;
/** Runs of one trace that are shown. */
const MOST_STEPS = 1_000;
/** Age up to which threads are listed. */
const THREADS_MS = 30 * 86_400_000;
const SELECTED = [
  'id',
  'trace_id',
  'name',
  'run_type',
  'status',
  'start_time',
  'latency',
  'total_tokens',
  'total_cost',
  'error',
  'session_id',
  'thread_id',
];

interface KeyRow {
  readonly id: string;
  readonly description?: string;
  readonly name?: string;
}

interface Project {
  readonly id: string;
  readonly name: string;
}

interface Page<T> {
  readonly runs: readonly T[];
  readonly cursors?: { readonly next: string | null };
}

type TraceRow = Omit<TraceItem['run'], 'project' | 'asked' | 'answered'> & {
  readonly id: string;
  readonly session_id: string;
};

interface ThreadRow {
  readonly thread_id: string;
  readonly count: number;
  readonly num_errored_turns: number;
  readonly trace_id: string;
  readonly start_time: string;
  readonly total_tokens: number;
  readonly total_cost: number | string | null;
}

interface ValuesRow {
  readonly id: string;
  readonly inputs: unknown;
  readonly outputs: unknown;
}

/** Dependencies of reading a list. */
interface Reading {
  readonly rest: RestRequests;
  readonly query: RestQuery;
  readonly now: Date;
  /** An item as it was read before. */
  readonly before: (id: string) => Item | undefined;
}

const LISTS: Readonly<Record<RestList, (reading: Reading) => Promise<readonly Item[]>>> = {
  keys: async ({ rest }) => {
    const keys = await rest.request<readonly KeyRow[]>('GET', '/api/v1/api-key?include_revoked=false');
    return keys.map((key) => ({
      metadata: { name: key.id },
      key: { ...key, name: key.name ?? key.description ?? '' },
    }));
  },
  traces: readTraces,
  threads: readThreads,
  steps: readSteps,
};

/** Projects by which a list is limited: that of the query, or the newest. */
async function projectsOf({ rest, query: { project } }: Reading): Promise<readonly Project[]> {
  const wanted = project === undefined ? 'limit=100' : `name=${encodeURIComponent(project)}&limit=1`;
  return await rest.request<readonly Project[]>('GET', `/sessions?${wanted}`);
}

/** The newest traces: of all, of a project, of a thread, or those that a condition lets through. */
async function readTraces(reading: Reading): Promise<readonly TraceItem[]> {
  const { rest, query, before } = reading;
  const own = query.project === undefined ? undefined : await projectsOf(reading);
  // an agent has a project once it was asked something
  if (own?.length === 0) return [];
  const conditions = [
    ...(query.thread === undefined ? [] : [`eq(thread_id, ${JSON.stringify(query.thread)})`]),
    ...(query.filter === undefined ? [] : [query.filter]),
  ];
  const [only] = conditions;
  const wanted = {
    is_root: true,
    select: SELECTED,
    ...(own === undefined ? {} : { session: own.map(({ id }) => id) }),
    ...(only === undefined
      ? {}
      : { filter: conditions.length === 1 ? only : `and(${conditions.join(', ')})` }),
  };
  const read = (more: object) => rest.request<Page<TraceRow>>('POST', '/runs/query', { ...wanted, ...more });
  const first = await read({ limit: MOST_TRACES });
  const cursor = first.cursors?.next ?? null;
  const missing = MOST_TRACES - first.runs.length;
  // the first page of a search has roots that begin with the text; one more looks for others, which may take seconds
  const second = cursor === null || missing === 0 ? [] : (await read({ limit: missing, cursor })).runs;
  const runs = [...first.runs, ...second];
  const formerOf = (id: string): TraceItem['run'] | undefined => (before(id) as TraceItem | undefined)?.run;
  // values are large: each is read once
  const fresh = runs.filter(({ id, status }) => formerOf(id)?.status !== status).map(({ id }) => id);
  const values = await readValues(rest, fresh);
  const projects = own ?? (fresh.length === 0 ? [] : await projectsOf(reading));
  return runs.map((run): TraceItem => {
    const former = formerOf(run.id);
    const said = values.get(run.id) ?? former;
    const project = projects.find(({ id }) => id === run.session_id)?.name ?? former?.project ?? '';
    return { metadata: { name: run.id }, run: { ...run, project, ...spoken(said) } };
  });
}

interface Spoken {
  readonly asked: string;
  readonly answered: string;
}

function spoken(said: ValuesRow | Spoken | undefined): Spoken {
  if (said === undefined) return { asked: '', answered: '' };
  if ('asked' in said) return { asked: said.asked, answered: said.answered };
  return { asked: askedLine(said.inputs), answered: answerLine(said.outputs) };
}

/** Threads of a project, the one with the newest trace first. */
async function readThreads(reading: Reading): Promise<readonly ThreadItem[]> {
  const { rest, now, before } = reading;
  const [project] = await projectsOf(reading);
  if (project === undefined) return [];
  const { items } = await rest.request<{ readonly items: readonly ThreadRow[] }>(
    'POST',
    '/api/v2/threads/query',
    {
      project_id: project.id,
      min_start_time: new Date(now.getTime() - THREADS_MS).toISOString(),
      page_size: MOST_TRACES,
    },
  );
  const formerOf = (id: string): ThreadItem['thread'] | undefined =>
    (before(id) as ThreadItem | undefined)?.thread;
  const fresh = items.filter(({ thread_id: id, start_time: time }) => formerOf(id)?.start_time !== time);
  const values = await readValues(
    rest,
    fresh.map(({ trace_id: id }) => id),
  );
  return items.map((row): ThreadItem => {
    const said = spoken(values.get(row.trace_id) ?? formerOf(row.thread_id));
    const { count, num_errored_turns: failed, start_time, total_tokens, total_cost } = row;
    const cost = total_cost === null ? null : String(total_cost);
    return {
      metadata: { name: row.thread_id },
      thread: {
        project: project.name,
        count,
        failed,
        start_time,
        total_tokens,
        total_cost: cost,
        ...said,
      },
    };
  });
}

/** Runs of a trace in the order of its tree. */
async function readSteps({ rest, query: { trace }, now }: Reading): Promise<readonly StepItem[]> {
  if (trace === undefined) return [];
  const runs: ReadRun[] = [];
  let cursor: string | null = null;
  do {
    const page: Page<ReadRun> = await rest.request<Page<ReadRun>>('POST', '/runs/query', {
      trace,
      select: RUN_FIELDS,
      limit: MOST_TRACES,
      order: 'asc',
      ...(cursor === null ? {} : { cursor }),
    });
    runs.push(...page.runs);
    cursor = page.cursors?.next ?? null;
  } while (cursor !== null && runs.length < MOST_STEPS);
  return treeRows(runs, now.getTime()).map((row, at) => ({ metadata: { name: row.run.id }, row, at }));
}

async function readValues(
  rest: RestRequests,
  ids: readonly string[],
): Promise<ReadonlyMap<string, ValuesRow>> {
  if (ids.length === 0) return new Map();
  const wanted = { id: ids, select: ['id', 'inputs', 'outputs'], limit: MOST_TRACES };
  const { runs } = await rest.request<Page<ValuesRow>>('POST', '/runs/query', wanted);
  return new Map(runs.map((run) => [run.id, run]));
}

/** True for a list that no longer changes, which is not read again. */
function isSettled(name: RestList, items: readonly Item[]): boolean {
  return (
    name === 'steps' &&
    items.length > 0 &&
    items.every((item) => (item as StepItem).row.run.status !== 'pending')
  );
}

/** A list of REST, and the part of it that is wanted. */
export type RestSource = Extract<Source, { kind: 'rest' }>;

/** A list of REST, read again every few seconds while a view shows it. */
export class RestItems implements StoppableItems {
  readonly #handlers = new Set<(change: Change<Item>) => void>();
  readonly #rest: RestRequests;
  readonly #source: RestSource;
  readonly #changed: () => void;
  readonly #clock: Clock;
  #items = new Map<string, Item>();
  #cancel: () => void = () => undefined;
  #isReading = false;
  hasSynced = false;
  problem: string | undefined;

  constructor(rest: RestRequests, source: RestSource, changed: () => void, clock: Clock) {
    this.#rest = rest;
    this.#source = source;
    this.#changed = changed;
    this.#clock = clock;
  }

  list(): readonly Item[] {
    return [...this.#items.values()];
  }

  find(key: string): Item | undefined {
    return this.#items.get(key);
  }

  on(handler: (change: Change<Item>) => void): () => void {
    this.#handlers.add(handler);
    for (const object of this.#items.values()) handler({ kind: 'added', object });
    if (!this.#isReading) void this.#read();
    return () => this.#handlers.delete(handler);
  }

  stop(): Promise<void> {
    this.#handlers.clear();
    this.#cancel();
    return Promise.resolve();
  }

  async #read(): Promise<void> {
    this.#isReading = true;
    let isLast = false;
    try {
      const { name, query = {} } = this.#source;
      const now = this.#clock.now();
      const items = await LISTS[name]({
        rest: this.#rest,
        query,
        now,
        before: (id) => this.#items.get(id),
      });
      this.#take(items);
      this.problem = undefined;
      isLast = isSettled(name, items);
    } catch (error) {
      this.problem = errorText(error);
    }
    this.hasSynced = true;
    this.#changed();
    if (isLast) {
      this.#isReading = false;
      return;
    }
    this.#cancel = this.#clock.after(READ_MS, () => {
      if (this.#handlers.size > 0) void this.#read();
      else this.#isReading = false;
    });
  }

  #take(items: readonly Item[]): void {
    const before = this.#items;
    this.#items = new Map(items.map((item) => [item.metadata.name, item]));
    for (const [name, object] of before) if (!this.#items.has(name)) this.#tell({ kind: 'deleted', object });
    for (const [name, object] of this.#items) {
      const former = before.get(name);
      this.#tell(former ? { kind: 'changed', object, before: former } : { kind: 'added', object });
    }
  }

  #tell(change: Change<Item>): void {
    for (const handler of this.#handlers) handler(change);
  }
}
