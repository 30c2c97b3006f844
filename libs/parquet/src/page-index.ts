import { type ColumnType } from './column-type.js';
import type { PageEntry } from './column-writer.js';
import { ThriftWriter } from './thrift-writer.js';
import { compareBounds } from './value-range.js';

/** Numbers of parquet.thrift. */
const ORDER = { none: 0, ascending: 1, descending: 2 } as const;
const NOTHING = new Uint8Array(0);

/**
 * Positions of the pages of a chunk (OffsetIndex of parquet.thrift): readers use it to skip pages whose rows
 * they do not want.
 * @param start of its first page of data in the file
 */
export function renderOffsetIndex(entries: readonly PageEntry[], start: number): Buffer {
  const thrift = new ThriftWriter().begin().structs(1, entries.length);
  let offset = start;
  for (const { bytes, firstRow } of entries) {
    thrift.begin().i64(1, offset).i32(2, bytes).i64(3, firstRow).end();
    offset += bytes;
  }
  return thrift.end().bytes;
}

/** Bounds of each page (ColumnIndex); undefined where a page has values and no bounds. */
export function renderColumnIndex(type: ColumnType, entries: readonly PageEntry[]): Buffer | undefined {
  if (entries.some(({ bounds, isAllNull }) => !bounds && !isAllNull)) return undefined;
  const bounds = entries.map((entry) => (entry.isAllNull ? undefined : entry.bounds));
  return new ThriftWriter()
    .begin()
    .bools(
      1,
      bounds.map((entry) => entry === undefined),
    )
    .blobs(
      2,
      bounds.map((entry) => entry?.min ?? NOTHING),
    )
    .blobs(
      3,
      bounds.map((entry) => entry?.max ?? NOTHING),
    )
    .i32(
      4,
      orderOf(
        type,
        bounds.filter((entry) => entry !== undefined),
      ),
    )
    .i64s(
      5,
      entries.map(({ nulls }) => nulls),
    )
    .end().bytes;
}

function orderOf(type: ColumnType, bounds: readonly { min: Uint8Array; max: Uint8Array }[]): number {
  const steps = bounds.slice(1).map((next, n) => {
    const former = bounds[n] ?? next;
    return [compareBounds(type, former.min, next.min), compareBounds(type, former.max, next.max)];
  });
  if (steps.every((both) => both.every((order) => order <= 0))) return ORDER.ascending;
  return steps.every((both) => both.every((order) => order >= 0)) ? ORDER.descending : ORDER.none;
}
