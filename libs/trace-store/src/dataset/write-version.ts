import { PublicError } from '#lib/errors';
import { inTransaction, textTypes, type Connection, type Pool } from '#lib/postgres';
import { formatInstant, parseInstant, type Instant } from '#lib/time';

/** Maximum number of examples per dataset, which is listed by offset and read whole by an evaluation. */
const MAX_EXAMPLES = 100_000;
/**
 * Maximum number of rows of a dataset, ended ones included: nothing else bounds the rows that updates leave
 * behind.
 */
const MAX_STORED = 1_000_000;
/**
 * Maximum number of listed versions per dataset, not counting tagged ones: examples that come and go leave a
 * version each time, and no rows of their own.
 */
const MAX_LISTED = 100_000;
/** Oldest versions that are forgotten together. */
const FORGOTTEN_AT_ONCE = 1_000;
/** Maximum size of the datasets of a tenant. */
export const MAX_DATASET_BYTES = 10_737_418_240;
/** Any number that no other lock of this database begins with. */
const BYTES_LOCK = 7_214_016;

/** A version that is being written; the dataset is locked. */
export interface OpenVersion {
  readonly db: Connection;
  readonly tenantId: string;
  readonly datasetId: string;
  readonly asOf: Instant;
  /** Places in the order of examples that are taken. */
  readonly made: bigint;
}

/** Differences that a version makes: nothing when no examples and rows come or go. */
export interface VersionCounts {
  /** Examples more or, when negative, fewer. */
  readonly examples: number;
  /** Rows more or fewer. */
  readonly rows: number;
  /** Difference in bytes of rows and contents. */
  readonly bytes: number;
  readonly made?: number;
}

export function noDataset(id: string): PublicError {
  return new PublicError('not_found', `Dataset ${id} not found`);
}

/** SQL of the bytes that a row of `example_versions` counts beside its contents: its splits and the names of its attachments may be long. */
export const ROW_BYTES = `(256 + octet_length(array_to_string(splits, '')) + coalesce(octet_length(attachments::text), 0))`;

interface LockedDataset {
  readonly as_of: string;
  readonly version_at: string | null;
  readonly examples_made: string;
}

/** Writes versions of datasets, within the bounds of a dataset and of a tenant. */
export class VersionWriter {
  constructor(
    private readonly pool: Pool,
    private readonly maxBytes = MAX_DATASET_BYTES,
  ) {}

  /**
   * Writes one version of a dataset. Its row is locked before the time is taken, so versions become visible in the order of
   * their times; each is later than the one before it by a millisecond at least, whatever the clock does.
   * @returns its time; that of the newest version when the work changes nothing
   * @throws PublicError not_found; forbidden when the dataset has as many examples as it may, the tenant as many bytes
   */
  write(
    tenantId: string,
    datasetId: string,
    work: (version: OpenVersion) => Promise<VersionCounts>,
  ): Promise<Instant> {
    return inTransaction(this.pool, (db) => this.writeIn(db, tenantId, datasetId, work));
  }

  /** The same in a transaction of the caller. */
  async writeIn(
    db: Connection,
    tenantId: string,
    datasetId: string,
    work: (version: OpenVersion) => Promise<VersionCounts>,
  ): Promise<Instant> {
    const { rows } = await db.query<LockedDataset>({
      text: `SELECT greatest(date_trunc('milliseconds', clock_timestamp()), version_at + interval '1 millisecond') AS as_of,
          version_at, examples_made
        FROM datasets WHERE tenant_id = $1 AND id = $2 AND deleted_at IS NULL FOR NO KEY UPDATE`,
      values: [tenantId, datasetId],
      types: textTypes,
    });
    const [row] = rows;
    if (!row) throw noDataset(datasetId);
    const asOf = timeOf(row.as_of);
    const version: OpenVersion = { db, tenantId, datasetId, asOf, made: BigInt(row.examples_made) };
    const counts = await work(version);
    if (counts.examples === 0 && counts.rows === 0) return timeOf(row.version_at);
    const listed = await count(version, counts);
    await db.query('INSERT INTO dataset_versions (tenant_id, dataset_id, as_of) VALUES ($1, $2, $3)', [
      tenantId,
      datasetId,
      formatInstant(asOf),
    ]);
    if (listed >= MAX_LISTED + FORGOTTEN_AT_ONCE) await forgetOldest(version);
    if (counts.bytes > 0) await this.#requireRoom(db, tenantId, counts.bytes);
    return asOf;
  }

  /**
   * Checks the tenant's limit. No other lock is taken after this one, so a transaction that waits here never
   * holds a lock that another waits for.
   */
  async #requireRoom(db: Connection, tenantId: string, bytes: number): Promise<void> {
    // two tenants whose ids have the same hash wait for one another
    await db.query('SELECT pg_advisory_xact_lock($1, hashtext($2))', [BYTES_LOCK, tenantId]);
    const { rows } = await db.query<{ bytes: string }>(
      'SELECT sum(stored_bytes) AS bytes FROM datasets WHERE tenant_id = $1',
      [tenantId],
    );
    const stored = Number(rows[0]?.bytes ?? 0);
    if (stored <= this.maxBytes) return;
    throw new PublicError(
      'forbidden',
      `adding ${bytes} bytes to datasets failed: the workspace has ${stored - bytes} of ${this.maxBytes} bytes; delete datasets, or examples with hard_delete`,
    );
  }
}

function timeOf(text: string | null): Instant {
  return (text === null ? undefined : parseInstant(text, { zone: 'optional' })) ?? 0n;
}

/** @returns how many versions are listed with this one */
async function count({ db, tenantId, datasetId, asOf }: OpenVersion, counts: VersionCounts): Promise<number> {
  const { rows } = await db.query<
    Readonly<Record<'example_count' | 'stored_versions' | 'listed_versions', string>>
  >(
    `UPDATE datasets SET version_at = $3, example_count = example_count + $4, stored_versions = stored_versions + $5,
      stored_bytes = stored_bytes + $6, examples_made = examples_made + $7,
      listed_versions = listed_versions + 1
    WHERE tenant_id = $1 AND id = $2 RETURNING example_count, stored_versions, listed_versions`,
    [tenantId, datasetId, formatInstant(asOf), counts.examples, counts.rows, counts.bytes, counts.made ?? 0],
  );
  const { example_count: examples = '0', stored_versions: stored = '0' } = rows[0] ?? {};
  if (counts.examples > 0 && Number(examples) > MAX_EXAMPLES)
    throw new PublicError(
      'forbidden',
      `adding examples to the dataset ${datasetId} failed: it would have ${examples}, and may have ${MAX_EXAMPLES}; use another dataset`,
    );
  if (counts.rows > 0 && Number(stored) > MAX_STORED)
    throw new PublicError(
      'forbidden',
      `changing the dataset ${datasetId} failed: it keeps ${MAX_STORED} versions of examples, the most that it may; use another dataset, or delete examples with hard_delete`,
    );
  return Number(rows[0]?.listed_versions ?? 0);
}

/**
 * Removes some of the oldest versions without a tag from the list. The states of examples at their times stay
 * known.
 */
async function forgetOldest({ db, tenantId, datasetId }: OpenVersion): Promise<void> {
  await db.query(
    `WITH gone AS (
      DELETE FROM dataset_versions WHERE tenant_id = $1 AND dataset_id = $2 AND as_of = ANY (ARRAY(
        SELECT v.as_of FROM dataset_versions v WHERE v.tenant_id = $1 AND v.dataset_id = $2 AND NOT EXISTS (
          SELECT FROM dataset_tags t WHERE t.tenant_id = $1 AND t.dataset_id = $2 AND t.as_of = v.as_of
        ) ORDER BY v.as_of LIMIT ${FORGOTTEN_AT_ONCE}
      )) RETURNING as_of
    )
    UPDATE datasets SET listed_versions = listed_versions - (SELECT count(*) FROM gone) WHERE tenant_id = $1 AND id = $2`,
    [tenantId, datasetId],
  );
}
