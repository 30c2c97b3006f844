import { PublicError } from '#lib/errors';
import { formatInstant } from '#lib/time';
import { ROW_BYTES, type OpenVersion, type VersionCounts } from './write-version.js';

/** Maximum number of splits per example. */
const MAX_SPLITS = 100;

const COLUMNS = [
  'ordinal',
  'id',
  'created_at',
  'source_run_id',
  'splits',
  'metadata_hash',
  'inputs_hash',
  'outputs_hash',
  'attachments',
].join(', ');
const SAID = ['splits', 'metadata_hash', 'inputs_hash', 'outputs_hash', 'attachments'];

/** Result of a statement that replaces current versions of examples. */
export interface Replacement {
  /**
   * Common table expressions that end with `found`: the columns of `example_versions` as they are to be, with the `since`
   * of the current version. `$1`, `$2` and `$3` are tenant, dataset and the version's time.
   */
  readonly found: string;
  /** SQL of the bytes that they store beside the rows. */
  readonly bytes?: string;
  /** Parameters from `$4` on. */
  readonly values: readonly unknown[];
}

/**
 * Ends current versions of examples that are to be different, and adds those that follow them.
 * @returns ids of all that were found
 * @throws PublicError forbidden when one is to be in too many splits
 */
export async function replaceVersions(
  { db, tenantId, datasetId, asOf }: OpenVersion,
  { found, bytes = '0', values }: Replacement,
): Promise<VersionCounts & { readonly ids: readonly string[] }> {
  const row = (alias: string) => SAID.map((name) => `${alias}.${name}`).join(', ');
  const { rows } = await db.query<{
    ids: string[] | null;
    rows: string;
    bytes: string;
    full: string | null;
  }>(
    `WITH ${found}, ended AS (
      UPDATE example_versions e SET until = $3::timestamptz FROM found f
      WHERE e.tenant_id = $1 AND e.dataset_id = $2 AND e.ordinal = f.ordinal AND e.since = f.since
        AND (${row('e')}) IS DISTINCT FROM (${row('f')})
      RETURNING f.*
    ), added AS (
      INSERT INTO example_versions (tenant_id, dataset_id, since, ${COLUMNS})
      SELECT $1::uuid, $2::uuid, $3::timestamptz, ${COLUMNS} FROM ended RETURNING ${ROW_BYTES} AS size, splits, id
    )
    SELECT (SELECT array_agg(id::text) FROM found) AS ids, count(*) AS rows, (array_agg(id::text) FILTER (WHERE cardinality(splits) > ${MAX_SPLITS}))[1] AS full,
      coalesce(sum(size), 0) + (${bytes}) AS bytes FROM added`,
    [tenantId, datasetId, formatInstant(asOf), ...values],
  );
  const [made] = rows;
  if (made?.full)
    throw new PublicError('forbidden', `Example ${made.full} would be in more than ${MAX_SPLITS} splits`);
  return {
    examples: 0,
    rows: Number(made?.rows ?? 0),
    bytes: Number(made?.bytes ?? 0),
    ids: made?.ids ?? [],
  };
}

/** @throws PublicError not_found for the first of the ids that was not found */
export function requireAll(ids: readonly string[], found: Iterable<string>, datasetId: string): void {
  const there = new Set(found);
  const missing = ids.find((id) => !there.has(id));
  if (missing !== undefined)
    throw new PublicError('not_found', `Example ${missing} not found in dataset ${datasetId}`);
}
