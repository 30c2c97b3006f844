import { errorText } from '#lib/errors';
import { isJsonObject, type JsonObject, parseJson } from '#lib/json';
import { mayPass, postgresTrouble } from '#lib/postgres';
import type { Clock } from '#lib/time';
import type { ItemStore, RankedItem } from '../memory/item-store.js';
import type { Fetch, Fetched, FetchedCheckpoint, ToHost } from '../protocol/messages.js';
import {
  type CheckpointSearch,
  findCheckpoints,
  findDeltaHistory,
  type FoundCheckpoint,
} from '../store/checkpoint/checkpoints.js';
import { putThreadCheckpoint, putThreadWrites, type StateWrite } from '../store/checkpoint/put-states.js';
import type { StateWriter } from '../store/checkpoint/state-writer.js';
import { PATIENCE_MS, persevere } from '../store/persevere.js';
import { type Fence, FencedError } from '../store/row/claimed-run.js';
import type { StoredItem } from '../store/row/item-row.js';
import { WORKER } from '../store/worker-scope.js';

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
