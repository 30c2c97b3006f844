import type { Change } from '#lib/kube';
import { errorText } from '#lib/errors';
import { answerLine, askedLine } from '#lib/conversation';
import type { RestRequests } from '#lib/rest-client';
import type { Clock } from '#lib/time';
import type { Item, RestList, TraceItem } from './items.js';
import type { StoppableItems } from './kube-world.js';

const READ_MS = 3_000;
const MOST_TRACES = 100;
const SELECTED = [
  'id',
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
}

type TraceRow = Omit<TraceItem['run'], 'project' | 'asked' | 'answered'> & {
  readonly id: string;
  readonly session_id: string;
};

interface ValuesRow {
  readonly id: string;
  readonly inputs: unknown;
  readonly outputs: unknown;
}

/** A trace as it was read before. */
type Before = (id: string) => TraceItem | undefined;

const LISTS: Readonly<Record<RestList, (rest: RestRequests, before: Before) => Promise<readonly Item[]>>> = {
  keys: async (rest) => {
    const keys = await rest.request<readonly KeyRow[]>('GET', '/api/v1/api-key?include_revoked=false');
    return keys.map((key) => ({
      metadata: { name: key.id },
      key: { ...key, name: key.name ?? key.description ?? '' },
    }));
  },
  traces: async (rest, before) => {
    const wanted = { is_root: true, select: SELECTED, limit: MOST_TRACES };
    const { runs } = await rest.request<Page<TraceRow>>('POST', '/runs/query', wanted);
    const fresh = runs.filter(({ id, status }) => {
      const former = before(id)?.run;
      return former === undefined || former.status !== status;
    });
    // values are large: each is read once
    const ids = fresh.map(({ id }) => id);
    const values = await readValues(rest, ids);
    const projects =
      ids.length === 0 ? [] : await rest.request<readonly Project[]>('GET', '/sessions?limit=100');
    return runs.map((run): TraceItem => {
      const former = before(run.id)?.run;
      const own = values.get(run.id);
      const project = projects.find(({ id }) => id === run.session_id)?.name ?? former?.project ?? '';
      const asked = own ? askedLine(own.inputs) : (former?.asked ?? '');
      const answered = own ? answerLine(own.outputs) : (former?.answered ?? '');
      return { metadata: { name: run.id }, run: { ...run, project, asked, answered } };
    });
  },
};

async function readValues(
  rest: RestRequests,
  ids: readonly string[],
): Promise<ReadonlyMap<string, ValuesRow>> {
  if (ids.length === 0) return new Map();
  const wanted = { id: ids, select: ['id', 'inputs', 'outputs'], limit: MOST_TRACES };
  const { runs } = await rest.request<Page<ValuesRow>>('POST', '/runs/query', wanted);
  return new Map(runs.map((run) => [run.id, run]));
}

/** A list of REST, read again every few seconds while a view shows it. */
export class RestItems implements StoppableItems {
  readonly #handlers = new Set<(change: Change<Item>) => void>();
  readonly #rest: RestRequests;
  readonly #name: RestList;
  readonly #changed: () => void;
  readonly #clock: Clock;
  #items = new Map<string, Item>();
  #cancel: () => void = () => undefined;
  #isReading = false;
  hasSynced = false;
  problem: string | undefined;

  constructor(rest: RestRequests, name: RestList, changed: () => void, clock: Clock) {
    this.#rest = rest;
    this.#name = name;
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
    try {
      this.#take(await LISTS[this.#name](this.#rest, (id) => this.#items.get(id) as TraceItem | undefined));
      this.problem = undefined;
    } catch (error) {
      this.problem = errorText(error);
    }
    this.hasSynced = true;
    this.#changed();
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
