import { setImmediate } from 'node:timers/promises';
import { type Connection, CopyBinaryWriter, copyIn, type CopyPart, textTypes } from '#lib/postgres';
import { formatInstant } from '#lib/time';
import { runKey } from './run-keys.js';
import { timeBounds, type RunPlace } from './stored-run.js';

/** `kind` of pairs that were taken from metadata; others are read from their payloads by `payload_pairs`. */
const METADATA = 1;

/** A short scalar of a run's metadata that filters read. */
export interface RunPair {
  readonly key: string;
  readonly value: string;
}

/** Pairs that are read when they are written: three hundred bytes of metadata have a hundred. */
export interface PairsToRead {
  /** Number of bytes that are read to find them. */
  readonly bytes: number;
  readonly read: () => readonly RunPair[];
}

/** All pairs that a run has. */
export interface PlacedPairs {
  readonly place: RunPlace;
  readonly pairs: PairsToRead;
}

/** Pairs of one statement. */
const PAIRS_AT_ONCE = 5_000;
/**
 * Number of bytes that are read before other requests are served, some milliseconds, and the cost of a run
 * besides its own bytes.
 */
const BYTES_AT_ONCE = 128 << 10;
const RUN_COST = 256;

/** Yields to other work after so many bytes. */
class ReadingTurns {
  #bytes = 0;

  async after({ bytes }: PairsToRead): Promise<void> {
    this.#bytes += bytes + RUN_COST;
    if (this.#bytes < BYTES_AT_ONCE) return;
    this.#bytes = 0;
    await setImmediate();
  }
}

const COLUMNS = [
  'tenant_id',
  'project_id',
  'start_time',
  'trace_id',
  'run_id',
  'kind',
  'key',
  'value',
] as const;

/** Pairs of new runs, in portions that are to be sent before the next is made. */
export async function* newPairRows(entries: readonly PlacedPairs[]): AsyncGenerator<CopyPart, void, void> {
  let [rows, written] = [new CopyBinaryWriter(), 0];
  const turns = new ReadingTurns();
  for (const { place, pairs } of entries) {
    for (const { key, value } of pairs.read()) {
      written++;
      rows
        .row(COLUMNS.length)
        .uuid(place.tenantId)
        .uuid(place.projectId)
        .time(place.startTime)
        .uuid(place.traceId)
        .uuid(place.id)
        .int2(METADATA)
        .text(key)
        .text(value);
    }
    await turns.after(pairs);
    if (written < PAIRS_AT_ONCE) continue;
    yield { table: 'run_pairs', columns: COLUMNS, rows };
    [rows, written] = [new CopyBinaryWriter(), 0];
  }
  if (written > 0) yield { table: 'run_pairs', columns: COLUMNS, rows };
}

interface PairRow {
  readonly run_id: string;
  readonly trace_id: string;
  readonly key: string;
  readonly value: string;
}

const AT_PLACES = `p.tenant_id = $1 AND p.start_time >= $2 AND p.start_time <= $3
  AND p.project_id = k.project_id AND p.start_time = k.start_time AND p.run_id = k.id AND p.trace_id = k.trace_id AND p.kind = ${METADATA}`;

/** Brings the pairs of runs in line, writing only those that differ. The runs' keys are locked by the caller. */
export async function replacePairs(client: Connection, entries: readonly PlacedPairs[]): Promise<void> {
  const [first] = entries;
  if (!first) return;
  const places = entries.map(({ place }) => place);
  const { rows } = await client.query<PairRow>({
    text: `SELECT p.run_id, p.trace_id, p.key, p.value
      FROM unnest($4::uuid[], $5::timestamptz[], $6::uuid[], $7::uuid[]) AS k(project_id, start_time, id, trace_id)
      JOIN run_pairs p ON ${AT_PLACES}`,
    values: [first.place.tenantId, ...timeBounds(places), ...columnsOf(places)],
    types: textTypes,
  });
  const stored = Map.groupBy(rows, ({ run_id: id, trace_id: traceId }) => runKey({ id, traceId }));
  const added: PlacedPairs[] = [];
  const removed: ({ place: RunPlace } & RunPair)[] = [];
  const turns = new ReadingTurns();
  for (const { place, pairs } of entries) {
    const before = new Map(
      (stored.get(runKey(place)) ?? []).map(
        ({ key, value }) => [textOf({ key, value }), { key, value }] as const,
      ),
    );
    const missing = pairs.read().filter((pair) => !before.delete(textOf(pair)));
    await turns.after(pairs);
    added.push({ place, pairs: { bytes: 0, read: () => missing } });
    for (const pair of before.values()) removed.push({ place, ...pair });
  }
  if (removed.length > 0)
    await client.query(
      `DELETE FROM run_pairs p USING unnest($4::uuid[], $5::timestamptz[], $6::uuid[], $7::uuid[], $8::text[], $9::text[])
        AS k(project_id, start_time, id, trace_id, key, value)
      WHERE ${AT_PLACES} AND p.key = k.key AND p.value = k.value`,
      [
        first.place.tenantId,
        ...timeBounds(places),
        ...columnsOf(removed.map(({ place }) => place)),
        removed.map(({ key }) => key),
        removed.map(({ value }) => value),
      ],
    );
  for await (const rows of newPairRows(added)) await copyIn(client, [rows]);
}

function textOf({ key, value }: RunPair): string {
  return `${key}\0${value}`;
}

function columnsOf(places: readonly RunPlace[]): unknown[] {
  return [
    places.map(({ projectId }) => projectId),
    places.map(({ startTime }) => formatInstant(startTime)),
    places.map(({ id }) => id),
    places.map(({ traceId }) => traceId),
  ];
}
