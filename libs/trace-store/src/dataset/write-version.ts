import { PublicError } from '#lib/errors';
import { inTransaction, textTypes, type Connection, type Pool } from '#lib/postgres';
import { formatInstant, parseInstant, type Instant } from '#lib/time';

/** Of a dataset: what is listed by offset, and read whole by an evaluation. */
const MAX_EXAMPLES = 100_000;
/** Rows of a dataset, ended ones included: nothing else bounds what updates leave behind. */
const MAX_STORED = 1_000_000;

/** A version that is being written; the dataset is locked. */
export interface OpenVersion {
  readonly db: Connection;
  readonly tenantId: string;
  readonly datasetId: string;
  readonly asOf: Instant;
  /** Places in the order of examples that are taken. */
  readonly made: bigint;
}

/** What a version changes. */
export interface VersionCounts {
  /** Examples more or, when negative, fewer. */
  readonly examples: number;
  /** Rows more or fewer. */
  readonly rows: number;
  readonly made?: number;
}

export function noDataset(id: string): PublicError {
  return new PublicError('not_found', `Dataset ${id} not found`);
}

/**
 * Writes one version of a dataset. Its row is locked before the time is taken, so versions become visible in the order of
 * their times; each is later than the one before it by a millisecond at least, whatever the clock does.
 * @throws PublicError not_found; forbidden when the dataset has as many examples as it may
 */
export async function writeVersion<T>(
  pool: Pool,
  tenantId: string,
  datasetId: string,
  work: (version: OpenVersion) => Promise<VersionCounts & { readonly result: T }>,
): Promise<T> {
  return inTransaction(pool, (db) => writeVersionIn(db, tenantId, datasetId, work));
}

/** The same in a transaction of the caller. */
export async function writeVersionIn<T>(
  db: Connection,
  tenantId: string,
  datasetId: string,
  work: (version: OpenVersion) => Promise<VersionCounts & { readonly result: T }>,
): Promise<T> {
  const { rows } = await db.query<Readonly<Record<'as_of' | 'examples_made', string>>>({
    text: `UPDATE datasets SET version_at =
        greatest(date_trunc('milliseconds', clock_timestamp()), version_at + interval '1 millisecond')
      WHERE tenant_id = $1 AND id = $2 AND deleted_at IS NULL RETURNING version_at AS as_of, examples_made`,
    values: [tenantId, datasetId],
    types: textTypes,
  });
  const [row] = rows;
  if (!row) throw noDataset(datasetId);
  const asOf = parseInstant(row.as_of, { zone: 'optional' }) ?? 0n;
  const {
    examples,
    rows: stored,
    made = 0,
    result,
  } = await work({
    ...{ db, tenantId, datasetId, asOf },
    made: BigInt(row.examples_made),
  });
  await count(db, tenantId, datasetId, [examples, stored, made]);
  await db.query(
    'INSERT INTO dataset_versions (tenant_id, dataset_id, as_of) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
    [tenantId, datasetId, formatInstant(asOf)],
  );
  return result;
}

async function count(
  db: Connection,
  tenantId: string,
  datasetId: string,
  counts: readonly number[],
): Promise<void> {
  const { rows } = await db.query<Readonly<Record<'example_count' | 'stored_versions', string>>>(
    `UPDATE datasets SET example_count = example_count + $3, stored_versions = stored_versions + $4,
      examples_made = examples_made + $5
    WHERE tenant_id = $1 AND id = $2 RETURNING example_count, stored_versions`,
    [tenantId, datasetId, ...counts],
  );
  const { example_count: examples = '0', stored_versions: stored = '0' } = rows[0] ?? {};
  if ((counts[0] ?? 0) > 0 && Number(examples) > MAX_EXAMPLES)
    throw new PublicError(
      'forbidden',
      `adding examples to the dataset ${datasetId} failed: it would have ${examples}, and may have ${MAX_EXAMPLES}; use another dataset`,
    );
  if ((counts[1] ?? 0) > 0 && Number(stored) > MAX_STORED)
    throw new PublicError(
      'forbidden',
      `changing the dataset ${datasetId} failed: it keeps ${MAX_STORED} versions of examples, the most that it may; use another dataset, or delete examples with hard_delete`,
    );
}
