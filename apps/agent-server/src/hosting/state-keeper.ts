import type { Clock } from '#lib/time';
import { errorText } from '#lib/errors';
import { isJsonObject, type JsonObject, parseJson } from '#lib/json';
import { mayPass, postgresTrouble } from '#lib/postgres';
import type { LoadPlace } from '../graph/load-progress.js';
import type {
  LoadOrder,
  ThreadReport,
  Fetch,
  Fetched,
  FetchedCheckpoint,
  ToHost,
} from '../protocol/messages.js';
import type { ItemStore, RankedItem } from '../memory/item-store.js';
import {
  type CheckpointSearch,
  findCheckpoints,
  findDeltaHistory,
  type FoundCheckpoint,
} from '../store/checkpoint/checkpoints.js';
import {
  putThreadCheckpoint,
  putThreadWrites,
  type StateWrite,
  type StateWriter,
} from '../store/checkpoint/put-states.js';
import { PATIENCE_MS, persevere } from '../store/batch.js';
import { type Fence, FencedError } from '../store/row/claimed-run.js';
import type { StoredItem } from '../store/row/item-row.js';
import { WORKER } from '../store/worker-scope.js';

/** Last report of a host about the graph that it loads, with the time since that graph was begun. */
export class LoadView {
  #place: LoadPlace | undefined;
  #hang: string | undefined;
  #sinceMs = 0;

  constructor(
    private readonly order: Pick<LoadOrder, 'folder' | 'module'>,
    private readonly clock: Clock,
  ) {}

  see(place: LoadPlace): void {
    if (place.graphId !== this.#place?.graphId) this.#sinceMs = this.clock.monotonicMs();
    this.#place = place;
    this.#hang = undefined;
  }

  /** The host executes this and nothing else. */
  seeHang(at: string): void {
    this.#hang = at;
  }

  /** Files by their names in the agent's folder, as their author knows them. */
  inFolder(text: string): string {
    const { folder } = this.order;
    return text.replaceAll(`file://${folder}/`, '').replaceAll(`${folder}/`, '');
  }

  describe(): string {
    if (!this.#place) return 'starting';
    const { graphId, file, waitsFor } = this.#place;
    const seconds = Math.floor((this.clock.monotonicMs() - this.#sinceMs) / 1000);
    const waits = waitsFor.length === 0 ? '' : `, which waits for ${waitsFor.join(' and ')}`;
    const hangs = this.#hang === undefined ? waits : `, which executes ${this.#hang}`;
    return this.inFolder(
      `${this.order.module ? '' : 'graph '}"${graphId}" has been loading for ${seconds} s; it is in ${file}${hangs}`,
    );
  }
}

/** Waiting time after which the threads are assumed not to come back. */
const LONG_MS = 30_000;

/**
 * Use of the threads of plain functions in a Python process, as it reports it. A thread cannot be ended: a
 * call that its caller gave up holds one until its function returns, which without a time limit may be never.
 */
export class ThreadView {
  #last: ThreadReport | undefined;
  #stuckFromMs: number | undefined;
  #waitsFromMs: number | undefined;
  #seenAtMs = 0;
  #starvedFromMs: number | undefined;

  constructor(private readonly clock: Clock) {}

  see(report: ThreadReport): void {
    const { most, waiting, givenUp } = report;
    const nowMs = this.clock.monotonicMs();
    this.#last = report;
    this.#seenAtMs = nowMs;
    this.#waitsFromMs = waiting > 0 ? (this.#waitsFromMs ?? nowMs) : undefined;
    if (givenUp >= most) this.#stuckFromMs ??= nowMs;
    // one that ends now and then does not help: the next call may take its place
    else if (givenUp < most / 2) this.#stuckFromMs = undefined;
    if (givenUp < most) this.#starvedFromMs = undefined;
    // waiters that left were not served: the time continues
    else if (waiting > 0) this.#starvedFromMs ??= nowMs;
  }

  /** Milliseconds since calls that were given up held all threads; 0 once they hold less than half of them. */
  get stuckMs(): number {
    return this.#stuckFromMs === undefined ? 0 : this.clock.monotonicMs() - this.#stuckFromMs;
  }

  /**
   * Milliseconds, up to the last report, since a call came to wait while calls that were given up held all threads, as
   * they do still; undefined otherwise.
   */
  get starvedMs(): number | undefined {
    return this.#starvedFromMs === undefined ? undefined : this.#seenAtMs - this.#starvedFromMs;
  }

  /** Message when calls whose callers gave up hold half of the threads or more. */
  describeStuck(what: string): string | undefined {
    if (!this.#last || this.#last.givenUp < this.#last.most / 2) return undefined;
    const { most, givenUp } = this.#last;
    return `${givenUp} of ${most} threads hold ${what} that did not end in time; set a time limit for what they call`;
  }

  /** Message when calls have waited for a thread for half a minute, whichever calls they were. */
  describeWaiting(what: string): string | undefined {
    if (!this.#last || this.#waitsFromMs === undefined) return undefined;
    const waitsMs = this.clock.monotonicMs() - this.#waitsFromMs;
    if (waitsMs < LONG_MS) return undefined;
    const { most, waiting, givenUp } = this.#last;
    const ended = givenUp > 0 ? `, ${givenUp} of which belong to runs that ended` : '';
    return `${waiting} ${what} wait for one of ${most} threads, for ${Math.floor(waitsMs / 1000)} s now; all threads are held by others${ended}; make them async or set a time limit for what they call`;
  }
}

/** Higher limit than for requests: graphs hold the results in the memory of their own run. */
const MAX_FOUND = 10_000;

/** An operation on the store as a host sends it. */
type ItemOperation =
  | { readonly op: 'get'; readonly namespace: string[]; readonly key: string; readonly refreshes?: boolean }
  | {
      readonly op: 'put';
      readonly namespace: string[];
      readonly key: string;
      readonly value: JsonObject;
      readonly index?: false | string[] | null;
      readonly ttl?: number | null;
    }
  | { readonly op: 'delete'; readonly namespace: string[]; readonly key: string }
  | {
      readonly op: 'search';
      readonly prefix: string[];
      readonly filter?: JsonObject | null;
      readonly query?: string | null;
      readonly limit: number;
      readonly offset: number;
      readonly refreshes?: boolean;
    }
  | {
      readonly op: 'namespaces';
      readonly prefix: string[];
      readonly suffix: string[];
      readonly maxDepth?: number | null;
      readonly limit: number;
      readonly offset: number;
    };

/**
 * Performs operations of a batch one after the other: later ones read the writes of earlier ones.
 * @returns JSON text of the list of their results
 * @throws PublicError for an item that cannot be kept; errors of the database
 */
async function performItems(items: ItemStore, given: unknown, clock: Clock): Promise<string> {
  const texts: string[] = [];
  for (const operation of given as ItemOperation[])
    texts.push(await persevere(clock, PATIENCE_MS, () => performItem(items, operation)));
  return `[${texts.join(',')}]`;
}

async function performItem(items: ItemStore, operation: ItemOperation): Promise<string> {
  switch (operation.op) {
    case 'get': {
      const found = await items.get(WORKER, operation, operation.refreshes);
      return found ? itemText(found) : 'null';
    }
    case 'put': {
      const { namespace, key, value, index, ttl } = operation;
      if (!isJsonObject(value)) throw new Error('an item of the store is an object');
      await items.put(WORKER, { namespace, key, value, index: index ?? undefined, ttlMinutes: ttl });
      return 'null';
    }
    case 'delete':
      await items.remove(WORKER, operation);
      return 'null';
    case 'search': {
      const { prefix, filter, query, refreshes } = operation;
      const page = { limit: rows(operation.limit), offset: rows(operation.offset) };
      const wanted = { prefix, filter: filter ?? undefined, query: query ?? undefined, refreshes, ...page };
      const found = await items.search(WORKER, wanted);
      return `[${found.map(itemText).join(',')}]`;
    }
    case 'namespaces': {
      const { prefix, suffix, maxDepth } = operation;
      const page = { limit: rows(operation.limit), offset: rows(operation.offset) };
      return JSON.stringify(
        await items.namespaces(WORKER, { prefix, suffix, maxDepth: maxDepth ?? undefined, ...page }),
      );
    }
    default:
      return operation satisfies never;
  }
}

function rows(given: number): number {
  return Math.max(0, Math.min(Math.trunc(given), MAX_FOUND));
}

/** The value is JSON already. */
function itemText({ value, ...item }: StoredItem | RankedItem): string {
  return `${JSON.stringify(item).slice(0, -1)},"value":${value}}`;
}

export interface StateKeeperParts {
  readonly writer: StateWriter;
  readonly items: ItemStore;
  readonly clock: Clock;
}

/** Answer to a request of a host. */
export interface FetchAnswer {
  readonly head: Fetched;
  readonly body: Buffer;
}

type Denial = Extract<ToHost, { kind: 'denied' }>;

/**
 * States of threads and items of the store for hosts that have no database of their own. Values are bytes
 * that this server does not parse. It waits for a database that is unavailable.
 */
export class StateKeeper {
  constructor(private readonly parts: StateKeeperParts) {}

  /**
   * @param fenceOf the attempt that a host's number names; undefined once it is not at work there
   * @throws FencedError, errors of the database, PublicError
   */
  async fetch(asked: Fetch, body: Buffer, fenceOf: (run: number) => Fence | undefined): Promise<FetchAnswer> {
    switch (asked.what) {
      case 'put-checkpoint':
      case 'put-writes':
        await this.#put(asked.run, writeOf(asked, body), fenceOf);
        return { head: {}, body: Buffer.alloc(0) };
      case 'get-checkpoint':
        return this.#find({ ...asked, limit: 1 });
      case 'list-checkpoints':
        return this.#find({ ...asked, metadata: asked.filter });
      case 'delta-history': {
        const found = await persevere(this.parts.clock, PATIENCE_MS, () =>
          findDeltaHistory(WORKER, this.parts.writer.sql, asked),
        );
        const parts = found.map(({ bytes, ...part }) => ({ ...part, bytes: bytes.length }));
        return { head: { parts }, body: Buffer.concat(found.map(({ bytes }) => bytes)) };
      }
      case 'items': {
        const found = await performItems(this.parts.items, parseJson(body.toString()), this.parts.clock);
        return { head: {}, body: Buffer.from(found) };
      }
      default:
        return asked satisfies never;
    }
  }

  async #put(
    run: number | undefined,
    dumped: Write,
    fenceOf: (run: number) => Fence | undefined,
  ): Promise<void> {
    const { writer, clock } = this.parts;
    if (run === undefined) {
      await persevere(clock, PATIENCE_MS, () =>
        dumped.kind === 'checkpoint'
          ? putThreadCheckpoint(WORKER, writer.sql, dumped.dumped)
          : putThreadWrites(WORKER, writer.sql, dumped.dumped),
      );
      return;
    }
    const fence = fenceOf(run);
    if (!fence) throw new FencedError(`number ${run}`, 0);
    if (!(await persevere(clock, PATIENCE_MS, () => writer.put({ ...dumped, fence }))))
      throw new FencedError(fence.runId, fence.attempt);
  }

  async #find(search: CheckpointSearch): Promise<FetchAnswer> {
    const found = await persevere(this.parts.clock, PATIENCE_MS, () =>
      findCheckpoints(WORKER, this.parts.writer.sql, search),
    );
    const parts: Buffer[] = [];
    const tuples = found.map((one) => renderCheckpoint(search.namespace, one, parts));
    return { head: { tuples }, body: Buffer.concat(parts) };
  }
}

/** Reason for which a host does not get the state that it asked for. */
export function denialOf(error: unknown): Denial {
  const message = errorText(error);
  if (error instanceof FencedError) return { kind: 'denied', trouble: 'fenced', message };
  if (mayPass(error)) return { kind: 'denied', trouble: 'unavailable', message: 'Database unavailable' };
  const isRefused = postgresTrouble(error) === 'refused';
  return { kind: 'denied', trouble: isRefused ? 'refused' : 'failed', message };
}

type Write =
  | Omit<Extract<StateWrite, { kind: 'checkpoint' }>, 'fence'>
  | Omit<Extract<StateWrite, { kind: 'writes' }>, 'fence'>;

function writeOf(asked: Extract<Fetch, { what: 'put-checkpoint' | 'put-writes' }>, body: Buffer): Write {
  let at = 0;
  const take = (bytes: number): Buffer => body.subarray(at, (at += bytes));
  const { threadId, namespace, checkpointId } = asked;
  if (asked.what === 'put-writes') {
    const { taskId, taskPath, replaces } = asked;
    const writes = asked.writes.map(({ idx, channel, type, bytes }) => ({
      idx,
      channel,
      type,
      blob: take(bytes),
    }));
    return {
      kind: 'writes',
      dumped: { threadId, namespace, checkpointId, taskId, taskPath, replaces, writes },
    };
  }
  const checkpoint = take(asked.checkpointBytes).toString();
  const metadata = take(asked.metadataBytes).toString();
  const blobs = asked.blobs.map(({ channel, version, type, bytes }) => ({
    channel,
    version,
    type,
    bytes: type === 'empty' ? null : take(bytes),
  }));
  const { parentId } = asked;
  return {
    kind: 'checkpoint',
    dumped: { threadId, namespace, checkpointId, parentId, checkpoint, metadata, blobs },
  };
}

function renderCheckpoint(namespace: string, found: FoundCheckpoint, parts: Buffer[]): FetchedCheckpoint {
  const [checkpoint, metadata] = [Buffer.from(found.checkpoint), Buffer.from(found.metadata)];
  parts.push(checkpoint, metadata, ...found.blobs.map(({ bytes }) => bytes));
  parts.push(...found.writes.map(({ bytes }) => bytes));
  return {
    namespace,
    checkpointId: found.checkpointId,
    parentId: found.parentId,
    checkpointBytes: checkpoint.length,
    metadataBytes: metadata.length,
    blobs: found.blobs.map(({ channel, type, bytes }) => ({ channel, type, bytes: bytes.length })),
    writes: found.writes.map(({ taskId, channel, type, bytes }) => ({
      taskId,
      channel,
      type,
      bytes: bytes.length,
    })),
  };
}
