import { randomUUID } from 'node:crypto';
import { PublicError } from '#lib/errors';
import {
  type Connection,
  inTransaction,
  type Pool,
  type Queryable,
  sqlState,
  textTypes,
} from '#lib/postgres';
import { type Instant, parseInstant } from '#lib/time';
import { eachStep } from '../limited-read.js';
import { removeSomeReferences } from './attached-examples.js';
import type { Dataset, DatasetDetails, DatasetSearch, DataType, NewDataset } from './dataset.js';
import { timedRead } from './search-examples.js';

/** Rows of one transaction: their payloads may be large. */
const ROWS_AT_ONCE = 500;

/** Tables in the order of their removal; they are not read for a dataset that is marked as deleted. */
const TABLES = ['example_versions', 'example_payloads', 'dataset_versions', 'dataset_tags'] as const;

/**
 * Removes the rows of a dataset that is marked as deleted, the mark last. Safe to repeat, and in several processes at
 * once.
 */
async function removeDataset(pool: Pool, tenantId: string, id: string): Promise<void> {
  for (const table of TABLES) while ((await removeSome(pool, table, tenantId, id)) === ROWS_AT_ONCE);
  while ((await removeSomeReferences(pool, tenantId, id, ROWS_AT_ONCE)) === ROWS_AT_ONCE);
  // another process may hold some rows that this one skipped: the last process removes the mark
  const isEmpty = [...TABLES, 'example_attachments'].map(
    (table) => `NOT EXISTS (SELECT FROM ${table} WHERE tenant_id = $1 AND dataset_id = $2)`,
  );
  await pool.query(
    `DELETE FROM datasets WHERE tenant_id = $1 AND id = $2 AND deleted_at IS NOT NULL AND ${isEmpty.join(' AND ')}`,
    [tenantId, id],
  );
}

async function removeSome(
  db: Queryable,
  table: (typeof TABLES)[number],
  tenantId: string,
  id: string,
): Promise<number> {
  const { rowCount } = await db.query(
    `DELETE FROM ${table} WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM ${table} WHERE tenant_id = $1 AND dataset_id = $2 LIMIT ${ROWS_AT_ONCE}
    ))`,
    [tenantId, id],
  );
  return rowCount ?? 0;
}

/**
 * Completes interrupted deletions, except those that their own process still performs.
 * @throws errors of some of them, after all others were completed
 */
export async function removeMarkedDatasets(pool: Pool): Promise<void> {
  const { rows } = await pool.query<{ tenant_id: string; id: string }>(
    `SELECT tenant_id, id FROM datasets WHERE deleted_at < clock_timestamp() - interval '5 minutes'
    ORDER BY deleted_at`,
  );
  await eachStep(rows.map((row) => () => removeDataset(pool, row.tenant_id, row.id)));
}

/** SQLSTATE of a unique key that is violated. */
const TAKEN = '23505';
/** Any number that no other lock of this database begins with. */
const LIMIT_LOCK = 7_214_015;

type Row = Readonly<Record<string, string | null>>;

const COLUMNS = `d.id, d.tenant_id, d.name, d.description, d.data_type, d.inputs_schema, d.outputs_schema, d.metadata,
  d.created_at, greatest(d.modified_at, d.version_at) AS modified_at, d.example_count, s.session_count, s.last_session`;
/** Counted, so that it agrees with the list of the experiments whatever became of them. */
const SESSIONS = `CROSS JOIN LATERAL (
  SELECT count(*) AS session_count, max(coalesce(p.start_time, p.created_at)) AS last_session
  FROM projects p WHERE p.tenant_id = d.tenant_id AND p.reference_dataset_id = d.id
) s`;

function time(text: string | null | undefined): Instant | undefined {
  return text ? parseInstant(text, { zone: 'optional' }) : undefined;
}

function parse(row: Row): Dataset {
  return {
    id: row['id'] ?? '',
    tenantId: row['tenant_id'] ?? '',
    name: row['name'] ?? '',
    description: row['description'] ?? undefined,
    dataType: row['data_type'] as DataType,
    inputsSchema: row['inputs_schema'] ?? undefined,
    outputsSchema: row['outputs_schema'] ?? undefined,
    metadata: row['metadata'] ?? undefined,
    createdAt: time(row['created_at']) ?? 0n,
    modifiedAt: time(row['modified_at']) ?? 0n,
    exampleCount: Number(row['example_count']),
    sessionCount: Number(row['session_count']),
    lastSessionStartTime: time(row['last_session']),
  };
}

/**
 * Datasets of one tenant at a time.
 * The table `datasets`. Ids belong to one tenant: another's are not shown and do not conflict.
 */
export class DatasetTable {
  constructor(
    private readonly pool: Pool,
    private readonly max = Number.POSITIVE_INFINITY,
  ) {}

  /**
   * @throws PublicError conflict when the name or the id is taken; forbidden when the tenant has as many as it may
   */
  async create(tenantId: string, dataset: NewDataset): Promise<Dataset> {
    const id = dataset.id ?? randomUUID();
    await named(dataset.name, () =>
      inTransaction(this.pool, async (db) => {
        await this.#makeRoom(db, tenantId, dataset.name);
        const { name, description, dataType, inputsSchema, outputsSchema, metadata } = dataset;
        const { rowCount } = await db.query(
          `INSERT INTO datasets (tenant_id, id, name, description, data_type, inputs_schema, outputs_schema, metadata)
          VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (tenant_id, id) DO NOTHING`,
          [tenantId, id, name, description, dataType, inputsSchema, outputsSchema, metadata],
        );
        if (rowCount === 0)
          throw new PublicError(
            'conflict',
            `creating the dataset ${name} failed: the id ${id} is taken; choose another`,
          );
      }),
    );
    const made = await this.find(tenantId, id);
    if (made) return made;
    throw new PublicError('conflict', `the dataset ${dataset.name} was deleted while it was created`);
  }

  /** Undefined also for another tenant's, and for one that is being deleted. */
  async find(tenantId: string, id: string): Promise<Dataset | undefined> {
    const { rows } = await this.pool.query<Row>({
      text: `SELECT ${COLUMNS} FROM datasets d ${SESSIONS} WHERE d.tenant_id = $1 AND d.id = $2 AND d.deleted_at IS NULL`,
      values: [tenantId, id],
      types: textTypes,
    });
    return rows[0] && parse(rows[0]);
  }

  /** Newest first. */
  async list(tenantId: string, search: DatasetSearch): Promise<readonly Dataset[]> {
    const { ids, name, nameContains, dataTypes, metadata, limit, offset } = search;
    const { rows } = await timedRead(
      this.pool,
      (db) =>
        db.query<Row>({
          text: `SELECT ${COLUMNS} FROM (
              SELECT * FROM datasets d WHERE d.tenant_id = $1 AND d.deleted_at IS NULL
                AND ($2::uuid[] IS NULL OR d.id = ANY ($2)) AND ($3::text IS NULL OR d.name = $3)
                AND ($4::text IS NULL OR strpos(lower(d.name), lower($4)) > 0)
                AND ($5::text[] IS NULL OR d.data_type = ANY ($5))
                AND ($6::text IS NULL OR (pg_input_is_valid(d.metadata, 'jsonb') AND d.metadata::jsonb @> $6::jsonb))
              ORDER BY d.created_at DESC, d.id LIMIT $7 OFFSET $8
            ) d ${SESSIONS} ORDER BY d.created_at DESC, d.id`,
          values: [
            tenantId,
            ids,
            name,
            nameContains,
            dataTypes,
            metadata && JSON.stringify(metadata),
            limit,
            offset,
          ],
          types: textTypes,
        }),
      'finding these datasets',
    );
    return rows.map(parse);
  }

  /**
   * @returns the updated dataset; undefined when no dataset has this id
   * @throws PublicError conflict when another dataset has the name
   */
  async update(
    tenantId: string,
    id: string,
    change: DatasetDetails & { readonly name?: string | undefined },
  ): Promise<Dataset | undefined> {
    const { name, description, inputsSchema, outputsSchema, metadata } = change;
    await named(name ?? '', () =>
      this.pool.query(
        `UPDATE datasets SET name = coalesce($3, name), description = coalesce($4, description),
          inputs_schema = coalesce($5, inputs_schema), outputs_schema = coalesce($6, outputs_schema),
          metadata = coalesce($7, metadata), modified_at = clock_timestamp()
        WHERE tenant_id = $1 AND id = $2 AND deleted_at IS NULL`,
        [tenantId, id, name, description, inputsSchema, outputsSchema, metadata],
      ),
    );
    return this.find(tenantId, id);
  }

  /**
   * Deletes the dataset with its examples in all versions; its experiments stay as tracing projects. Tidying
   * completes an interrupted deletion.
   * @returns false when it did not exist
   */
  async delete(tenantId: string, id: string): Promise<boolean> {
    const isMarked = await inTransaction(this.pool, async (db) => {
      // experiments lock this row when they are made: none is left behind
      const { rowCount } = await db.query(
        `UPDATE datasets SET deleted_at = clock_timestamp() WHERE tenant_id = $1 AND id = $2 AND deleted_at IS NULL`,
        [tenantId, id],
      );
      if (rowCount === 0) return false;
      await db.query(
        `UPDATE projects SET reference_dataset_id = NULL, test_run_number = NULL
        WHERE tenant_id = $1 AND reference_dataset_id = $2`,
        [tenantId, id],
      );
      return true;
    });
    if (isMarked) await removeDataset(this.pool, tenantId, id);
    return isMarked;
  }

  async #makeRoom(db: Connection, tenantId: string, name: string): Promise<void> {
    if (this.max === Number.POSITIVE_INFINITY) return;
    // two tenants whose ids have the same hash wait for one another
    await db.query('SELECT pg_advisory_xact_lock($1, hashtext($2))', [LIMIT_LOCK, tenantId]);
    if ((await countDatasets(db, tenantId)) < this.max) return;
    throw new PublicError(
      'forbidden',
      `creating the dataset ${name} failed: the workspace has ${this.max} datasets, the most that it may; delete some`,
    );
  }
}

export type Datasets = Pick<DatasetTable, keyof DatasetTable>;

async function countDatasets(db: Queryable, tenantId: string): Promise<number> {
  const { rows } = await db.query<{ count: string }>(
    'SELECT count(*) AS count FROM datasets WHERE tenant_id = $1 AND deleted_at IS NULL',
    [tenantId],
  );
  return Number(rows[0]?.count ?? 0);
}

/** @throws PublicError conflict when the name is that of another dataset */
async function named<T>(name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (sqlState(error) !== TAKEN) throw error;
    throw new PublicError('conflict', `Dataset with name ${name} already exists`, [], { cause: error });
  }
}
