import { visibleText } from '#lib/command-line';
import { errorText } from '#lib/errors';
import { at, isJsonObject, jsonEquals, type JsonObject, listAt, own, recordAt, textAt } from '#lib/json';
import { RestError, type RestRequests } from '#lib/rest-client';
import type { Page, Part } from '../move.js';
import { type ItemPage, itemsOf } from '../pages.js';
import { picked } from '../source.js';

const PAGE = 100;
/** Threads whose histories are held at once. */
const THREADS = 5;
/** States of a thread that are put in; of a longer one the newest state alone. */
const MOST_STATES = 1_000;

/** Servers of this interface whose things move: `from` is read, `to` is an agent here. */
interface Servers {
  readonly from: RestRequests;
  readonly to: RestRequests;
}

/** Lists of an agent server, in an order in which each finds what it refers to. */
export function* agentParts(servers: Servers): Iterable<Part> {
  yield listPart(servers, 'assistants', '/assistants/search', {
    // an assistant of a graph itself exists wherever the graph does
    isMoved: (one) => at(one, 'metadata', 'created_by') !== 'system',
    write: async (to, one) =>
      await to.request('POST', '/assistants', {
        ...picked(one, ['assistant_id', 'graph_id', 'name', 'description', 'config', 'context', 'metadata']),
        if_exists: 'do_nothing',
      }),
  });
  yield threadsPart(servers);
  yield listPart(servers, 'crons', '/runs/crons/search', { isMoved: () => true, write: writeCron });
  yield listPart(servers, 'store items', '/store/items/search', {
    body: { namespace_prefix: [] },
    isMoved: () => true,
    write: async (to, one) =>
      await to.request('PUT', '/store/items', picked(one, ['namespace', 'key', 'value'])),
  });
}

interface ListRules {
  readonly body?: JsonObject;
  readonly isMoved: (one: JsonObject) => boolean;
  /** Must change nothing when it is repeated. */
  readonly write: (to: RestRequests, one: JsonObject) => Promise<unknown>;
}

function listPart({ from, to }: Servers, kind: string, path: string, rules: ListRules): Part {
  return {
    key: kind,
    title: kind,
    total: undefined,
    prepare: () => Promise.resolve(kind),
    async read(cursor): Promise<Page> {
      const { items, next } = await pageOf(from, path, PAGE, cursor, rules.body);
      const moved = items.filter(rules.isMoved);
      return {
        counts: { [kind]: moved.length },
        next,
        write: () => writeEach(kind, moved, (one) => rules.write(to, one)),
      };
    },
    there: () => Promise.resolve({}),
  };
}

/** @returns none for a list that the server does not have */
async function pageOf(
  from: RestRequests,
  path: string,
  limit: number,
  cursor = '0',
  body: JsonObject = {},
): Promise<ItemPage> {
  try {
    const answer = await from.request('POST', path, { ...body, limit, offset: Number(cursor) });
    const items = (Array.isArray(answer) ? answer : listAt(answer, 'items')) as readonly JsonObject[];
    return { items, next: items.length < limit ? undefined : String(Number(cursor) + items.length) };
  } catch (error) {
    if (error instanceof RestError && [403, 404, 405, 501].includes(error.status))
      return { items: [], next: undefined };
    throw error;
  }
}

async function writeEach<T>(
  kind: string,
  items: readonly T[],
  write: (one: T) => Promise<unknown>,
): Promise<Readonly<Record<string, number>>> {
  let refused = 0;
  for (const one of items) {
    try {
      await write(one);
    } catch (error) {
      if (!(error instanceof RestError && error.status < 500 && error.status !== 401)) throw error;
      refused++;
      process.stderr.write(visibleText(`one of the ${kind} was refused: ${errorText(error)}\n`));
    }
  }
  return { [kind]: refused };
}

/** Crons get new ids, so the old one is in their metadata and looked for there. */
async function writeCron(to: RestRequests, cron: JsonObject): Promise<void> {
  const id = textAt(cron, ['cron_id']);
  const thread = textAt(cron, ['thread_id']);
  for await (const one of itemsOf((cursor) => pageOf(to, '/runs/crons/search', PAGE, cursor)))
    if (at(one, 'metadata', 'imported_from') === id) return;
  await to.request('POST', thread === '' ? '/runs/crons' : `/threads/${thread}/runs/crons`, {
    ...picked(recordAt(cron, 'payload'), [
      'input',
      'config',
      'context',
      'webhook',
      'interrupt_before',
      'interrupt_after',
    ]),
    ...picked(cron, ['assistant_id', 'schedule', 'end_time', 'timezone', 'enabled']),
    metadata: { ...recordAt(cron, 'metadata'), imported_from: id },
  });
}

function threadsPart({ from, to }: Servers): Part {
  return {
    key: 'threads',
    title: 'threads',
    total: undefined,
    prepare: () => Promise.resolve('threads'),
    async read(cursor): Promise<Page> {
      const order = { sort_by: 'created_at', sort_order: 'asc' };
      const { items, next } = await pageOf(from, '/threads/search', THREADS, cursor, order);
      const histories = await Promise.all(items.map((one) => historyOf(from, textAt(one, ['thread_id']))));
      const threads = items.map((thread, at) => ({ thread, states: histories[at] ?? [] }));
      return {
        counts: { threads: items.length, checkpoints: histories.flat().length },
        next,
        write: () => writeEach('threads', threads, (one) => writeThread(to, one)),
      };
    },
    async there() {
      return { threads: await to.request<number>('POST', '/threads/count', {}) };
    },
  };
}

interface MovedThread {
  readonly thread: JsonObject;
  /** The newest first. */
  readonly states: readonly JsonObject[];
}

async function historyOf(from: RestRequests, id: string): Promise<readonly JsonObject[]> {
  const found: JsonObject[] = [];
  for (;;) {
    const before = found.at(-1);
    const page = await from.request<readonly JsonObject[]>('POST', `/threads/${id}/history`, {
      limit: PAGE,
      ...(before === undefined ? {} : { before: own(before, 'checkpoint') }),
    });
    found.push(...page);
    if (page.length < PAGE || found.length > MOST_STATES) return found;
  }
}

/** The history step by step; where that leads to other values, or is refused, the newest state alone. */
async function writeThread(to: RestRequests, { thread, states }: MovedThread): Promise<void> {
  const id = textAt(thread, ['thread_id']);
  if (await exists(to, id)) return;
  const values = own(states[0] ?? {}, 'values');
  const body = { thread_id: id, metadata: own(thread, 'metadata') };
  if (states.length === 0) return void (await to.request('POST', '/threads', body));
  if (states.length <= MOST_STATES) {
    try {
      await to.request('POST', '/threads', { ...body, supersteps: superstepsOf(states) });
      const state = await to.request('GET', `/threads/${id}/state`);
      if (jsonEquals(at(state, 'values'), values)) return;
      await to.request('DELETE', `/threads/${id}`);
    } catch (error) {
      if (!(error instanceof RestError && [400, 409, 413, 422].includes(error.status))) throw error;
    }
  }
  const lastNode = states.flatMap((state) => listAt(state, 'tasks')).find(hasResult);
  const update = { values, as_node: lastNode === undefined ? '__input__' : textAt(lastNode, ['name']) };
  await to.request('POST', '/threads', { ...body, supersteps: [{ updates: [update] }] });
  process.stderr.write(`thread ${id} has its newest state alone: its history could not be replayed\n`);
}

async function exists(to: RestRequests, id: string): Promise<boolean> {
  try {
    await to.request('GET', `/threads/${id}`);
    return true;
  } catch (error) {
    if (error instanceof RestError && error.status === 404) return false;
    throw error;
  }
}

/** The steps that made the states: the results of the tasks of each, and an input where a run began. */
function superstepsOf(states: readonly JsonObject[]): readonly JsonObject[] {
  return states.toReversed().flatMap((state, at, all) => {
    const after = recordAt(all[at + 1], 'values');
    const done = listAt(state, 'tasks').filter(hasResult);
    const updates = done.map((task) => ({
      values: done.length === 1 ? withIds(own(task, 'result'), after) : own(task, 'result'),
      as_node: textAt(task, ['name']),
    }));
    const step = updates.length === 0 ? [] : [{ updates }];
    const [first] = updates;
    return first?.as_node === '__start__'
      ? [{ updates: [{ ...first, as_node: '__input__' }] }, ...step]
      : step;
  });
}

function hasResult(task: unknown): task is JsonObject {
  return isJsonObject(task) && own(task, 'result') !== null && own(task, 'result') !== undefined;
}

/** Messages got their ids when they were put into the state, where they are the last ones: the ids are taken from there. */
function withIds(result: unknown, after: JsonObject): unknown {
  if (!isJsonObject(result)) return result;
  return Object.fromEntries(
    Object.entries(result).map(([channel, value]) => {
      if (!Array.isArray(value) || value.length === 0) return [channel, value];
      const stored = listAt(after, channel).slice(-value.length);
      const isSame = value.every((one, at) => isIn(one, stored[at]));
      return [
        channel,
        isSame ? value.map((one: object, at) => ({ ...one, ...recordId(stored[at]) })) : value,
      ];
    }),
  );
}

function recordId(stored: unknown): JsonObject {
  return picked(recordAt(stored), ['id']);
}

function isIn(sent: unknown, stored: unknown): boolean {
  return isJsonObject(stored) && 'id' in stored && jsonEquals(at(sent, 'content'), at(stored, 'content'));
}
