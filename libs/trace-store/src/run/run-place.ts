import { formatInstant } from '#lib/time';
import type { RunRow } from './stored-run.js';

/** Place of a run: its key in every partitioned table. */
export type RunPlace = Pick<RunRow, 'tenantId' | 'projectId' | 'startTime' | 'id' | 'traceId'>;

/** The UTC range of the rows' days, so that Postgres looks into their partitions only. */
export function timeBounds(places: readonly RunPlace[]): readonly [string, string] {
  let [min, max] = [places[0]?.startTime ?? 0n, places[0]?.startTime ?? 0n];
  for (const { startTime } of places) {
    if (startTime < min) min = startTime;
    if (startTime > max) max = startTime;
  }
  return [formatInstant(min), formatInstant(max)];
}

/**
 * The places as parameters for `unnest(uuid[], timestamptz[], uuid[], uuid[])`: project, start time, id,
 * trace. Their texts need no quotes in an array, so they are not checked for them.
 */
export function columnsOf(places: readonly RunPlace[]): readonly string[] {
  const columns = [
    places.map(({ projectId }) => projectId),
    places.map(({ startTime }) => formatInstant(startTime)),
    places.map(({ id }) => id),
    places.map(({ traceId }) => traceId),
  ];
  return columns.map((texts) => `{${texts.join()}}`);
}
