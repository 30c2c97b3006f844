import { PublicError } from '#lib/errors';
import { inTransaction, sqlState, type Connection, type Pool } from '#lib/postgres';
import { formatInstant } from '#lib/time';
import { attachmentsOf, refer, removeReferences, type AttachmentColumn } from './attached-examples.js';
import {
  EXAMPLE_PAYLOADS,
  type ExamplePayload,
  type ExamplePayloads,
  type ExamplePlace,
  type ExampleRow,
  type ExampleSearch,
  type ExampleWrite,
  type WrittenExamples,
} from './dataset.js';
import { replaceVersions, requireAll } from './dataset-version-table.js';
import { readPayloads, searchExamples } from './search-examples.js';
import { ROW_BYTES, type OpenVersion, type VersionCounts, type VersionWriter } from './write-version.js';

/** SQLSTATE of a unique key that is violated. */
const TAKEN = '23505';
/** Limits of one statement, whose text and values are held beside the request's. */
const ROWS_AT_ONCE = 200;
const BYTES_AT_ONCE = 8 * 1024 * 1024;

const SENT = [
  ['id', 'uuid'],
  ['created_at', 'timestamptz'],
  ['source_run_id', 'uuid'],
  ['splits', 'text[]'],
  ['metadata', 'text'],
  ['inputs', 'text'],
  ['outputs', 'text'],
  ['attachments', 'jsonb'],
] as const;
const NAMES = SENT.map(([name]) => name).join(', ');

/**
 * Examples of one tenant at a time.
 * The table `example_versions`.
 */
export class ExampleTable {
  constructor(
    private readonly pool: Pool,
    private readonly writer: VersionWriter,
  ) {}

  /**
   * Adds examples as one version of their dataset.
   * @throws PublicError not_found (the dataset), conflict (an id is taken), forbidden (too many); nothing is stored then
   */
  async add(
    tenantId: string,
    datasetId: string,
    examples: readonly ExampleWrite[],
  ): Promise<WrittenExamples> {
    const ids = examples.map(({ id }) => id);
    try {
      const asOf = await this.writer.write(tenantId, datasetId, async (version) => {
        await requireFree(version, ids);
        let bytes = 0;
        const columns = await attachmentsOf(version, examples);
        for (const [from, some] of inSlices(examples))
          bytes += await insert(version, some, { from, columns });
        await refer(version, columns);
        const made = examples.length;
        return { examples: made, rows: made, bytes, made };
      });
      return { ids, asOf };
    } catch (error) {
      if (sqlState(error) !== TAKEN) throw error;
      // in another dataset, at this very moment
      throw new PublicError('conflict', 'Example with one of these ids already exists', [], { cause: error });
    }
  }

  /**
   * Changes examples as one version of their dataset.
   * @throws PublicError not_found (the dataset, or an example of it), forbidden; nothing is changed then
   */
  async change(
    tenantId: string,
    datasetId: string,
    changes: readonly ExampleWrite[],
  ): Promise<WrittenExamples> {
    const ids = changes.map(({ id }) => id);
    const asOf = await this.writer.write(tenantId, datasetId, async (version) => {
      const found: string[] = [];
      let [rows, bytes] = [0, 0];
      const columns = await attachmentsOf(version, changes);
      for (const [, some] of inSlices(changes)) {
        const made = await replace(version, some, columns);
        found.push(...made.ids);
        rows += made.rows;
        bytes += made.bytes;
      }
      requireAll(ids, found, datasetId);
      await refer(version, columns);
      return { examples: 0, rows, bytes };
    });
    return { ids, asOf };
  }

  /**
   * Ends examples; versions from before keep them unless `isHard`.
   * @throws PublicError not_found when one of them does not exist; nothing is deleted then
   */
  async delete(tenantId: string, ids: readonly string[], isHard: boolean): Promise<void> {
    await inTransaction(this.pool, async (db) => {
      const byDataset = await datasetsOf(db, tenantId, ids, isHard);
      // in one order: two deletions wait for one another instead of deadlocking
      for (const [datasetId, some] of [...byDataset].sort(([one], [other]) => (one < other ? -1 : 1)))
        await this.writer.writeIn(db, tenantId, datasetId, (version) => end(version, some, isHard));
    });
  }

  /**
   * A page of the matching examples, in the order in which they were made.
   * @throws PublicError not_found (the dataset, or a tag of it), bad_request when finding them takes too long
   */
  search(tenantId: string, search: ExampleSearch): Promise<readonly ExampleRow[]> {
    return searchExamples(this.pool, tenantId, search);
  }

  /** The given payloads of each, in their order; none of one that was removed meanwhile. */
  payloads(
    tenantId: string,
    rows: readonly ExamplePlace[],
    fields: readonly ExamplePayload[],
  ): Promise<readonly ExamplePayloads[]> {
    return readPayloads(this.pool, tenantId, rows, fields);
  }
}

export type Examples = Pick<ExampleTable, keyof ExampleTable>;

function* inSlices(
  examples: readonly ExampleWrite[],
): Generator<readonly [number, readonly ExampleWrite[]], void, void> {
  let from = 0;
  let bytes = 0;
  for (const [at, { inputs, outputs, metadata }] of examples.entries()) {
    const size = [inputs, outputs, metadata].reduce((sum, part) => sum + (part?.length ?? 0), 0);
    if (at > from && (at - from === ROWS_AT_ONCE || bytes + size > BYTES_AT_ONCE)) {
      yield [from, examples.slice(from, at)];
      [from, bytes] = [at, 0];
    }
    bytes += size;
  }
  if (from < examples.length) yield [from, examples.slice(from)];
}

/**
 * Rows of `SENT` with the hashes of their payloads, for a statement that has other parameters before theirs.
 */
function sentRows(examples: readonly ExampleWrite[], after: number): string {
  const tuples = examples.map(
    (_example, n) =>
      `(${n}, ${SENT.map(([, type], i) => `$${after + n * SENT.length + i + 1}::${type}`).join(', ')})`,
  );
  const hashes = EXAMPLE_PAYLOADS.map(
    (field) => `sha256(convert_to(v.${field}, 'UTF8')) AS ${field}_hash`,
  ).join(', ');
  return `sent AS MATERIALIZED (SELECT v.*, ${hashes} FROM (VALUES ${tuples.join(', ')}) AS v(n, ${NAMES}))`;
}

/** Stores contents of `sent`, each once for its example. @param rows SQL of `sent v` with the ordinal of each */
function storedContents(rows: string): string {
  const contents = EXAMPLE_PAYLOADS.map((field) => `(v.${field}_hash, v.${field})`).join(', ');
  return `stored AS (
    INSERT INTO example_payloads (tenant_id, dataset_id, ordinal, hash, content)
    SELECT $1::uuid, $2::uuid, v.ordinal, p.hash, p.content FROM (${rows}) v
    CROSS JOIN LATERAL (VALUES ${contents}) AS p(hash, content) WHERE p.content IS NOT NULL
    ON CONFLICT DO NOTHING RETURNING octet_length(content) AS size
  )`;
}

const STORED_BYTES = '(SELECT coalesce(sum(size), 0) FROM stored)';

type AttachmentColumns = ReadonlyMap<string, AttachmentColumn>;

function valuesOf(examples: readonly ExampleWrite[], columns: AttachmentColumns): unknown[] {
  return examples.flatMap(({ id, createdAt, sourceRunId, splits, metadata, inputs, outputs }) => [
    id,
    createdAt === undefined ? null : formatInstant(createdAt),
    ...[sourceRunId, splits, metadata, inputs, outputs].map((value) => value ?? null),
    columns.has(id) ? JSON.stringify(columns.get(id)) : null,
  ]);
}

async function requireFree({ db, tenantId }: OpenVersion, ids: readonly string[]): Promise<void> {
  const { rows } = await db.query<{ id: string }>(
    `SELECT id FROM example_versions WHERE tenant_id = $1 AND id = ANY ($2::uuid[]) AND until IS NULL LIMIT 1`,
    [tenantId, ids],
  );
  if (rows[0]) throw new PublicError('conflict', `Example with ID ${rows[0].id} already exists`);
}

/** @returns the bytes that it stored */
async function insert(
  version: OpenVersion,
  examples: readonly ExampleWrite[],
  { from, columns }: { readonly from: number; readonly columns: AttachmentColumns },
): Promise<number> {
  const { db, tenantId, datasetId, asOf, made } = version;
  const { rows } = await db.query<{ bytes: string }>(
    `WITH ${sentRows(examples, 4)}, ${storedContents('SELECT *, $4::bigint + n AS ordinal FROM sent')}, added AS (
      INSERT INTO example_versions (tenant_id, dataset_id, ordinal, since, id, created_at, source_run_id, splits,
        metadata_hash, inputs_hash, outputs_hash, attachments)
      SELECT $1::uuid, $2::uuid, $4::bigint + n, $3::timestamptz, id, coalesce(created_at, $3::timestamptz), source_run_id,
        coalesce(splits, '{base}'), metadata_hash, inputs_hash, outputs_hash, attachments
      FROM sent RETURNING ${ROW_BYTES} AS size
    )
    SELECT sum(size) + ${STORED_BYTES} AS bytes FROM added`,
    [tenantId, datasetId, formatInstant(asOf), String(made + BigInt(from)), ...valuesOf(examples, columns)],
  );
  return Number(rows[0]?.bytes ?? 0);
}

/** @returns ids of those that there are, too */
function replace(
  version: OpenVersion,
  changes: readonly ExampleWrite[],
  columns: AttachmentColumns,
): ReturnType<typeof replaceVersions> {
  const said = ['splits', ...EXAMPLE_PAYLOADS.map((field) => `${field}_hash`), 'attachments'];
  return replaceVersions(version, {
    found: `${sentRows(changes, 3)}, found AS (
      SELECT e.ordinal, e.since, e.id, e.created_at, e.source_run_id,
        ${said.map((name) => `coalesce(v.${name}, e.${name}) AS ${name}`).join(', ')}
      FROM example_versions e JOIN sent v ON v.id = e.id
      WHERE e.tenant_id = $1 AND e.dataset_id = $2 AND e.until IS NULL
    ), ${storedContents('SELECT s.*, f.ordinal FROM sent s JOIN found f ON f.id = s.id')}`,
    bytes: STORED_BYTES,
    values: valuesOf(changes, columns),
  });
}

/** The datasets of examples that exist, or of which any version does. @throws PublicError not_found */
async function datasetsOf(
  db: Connection,
  tenantId: string,
  ids: readonly string[],
  isHard: boolean,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const { rows } = await db.query<{ id: string; dataset_id: string }>(
    `SELECT DISTINCT e.id, e.dataset_id FROM example_versions e JOIN datasets d
      ON d.tenant_id = e.tenant_id AND d.id = e.dataset_id AND d.deleted_at IS NULL
    WHERE e.tenant_id = $1 AND e.id = ANY ($2::uuid[])${isHard ? '' : ' AND e.until IS NULL'}`,
    [tenantId, ids],
  );
  const found = new Set(rows.map(({ id }) => id));
  const missing = ids.find((id) => !found.has(id));
  if (missing !== undefined) throw new PublicError('not_found', `Example with ID ${missing} not found`);
  const byDataset = new Map<string, string[]>();
  for (const { id, dataset_id: datasetId } of rows)
    byDataset.set(datasetId, [id].concat(byDataset.get(datasetId) ?? []));
  return byDataset;
}

async function end(
  { db, tenantId, datasetId, asOf }: OpenVersion,
  ids: readonly string[],
  isHard: boolean,
): Promise<VersionCounts> {
  const values = [tenantId, datasetId, ids];
  const of = 'tenant_id = $1 AND dataset_id = $2 AND id = ANY ($3::uuid[])';
  if (!isHard) {
    const text = `UPDATE example_versions SET until = $4::timestamptz WHERE ${of} AND until IS NULL`;
    const { rowCount } = await db.query(text, [...values, formatInstant(asOf)]);
    return { examples: -(rowCount ?? 0), rows: 0, bytes: 0 };
  }
  await removeReferences(db, tenantId, datasetId, ids);
  // all versions of the examples go, and so does all that any of them points to
  const { rows } = await db.query<Record<'current' | 'all' | 'bytes', string>>(
    `WITH gone AS (
      DELETE FROM example_versions WHERE ${of} RETURNING until, ordinal, ${ROW_BYTES} AS size
    ), contents AS (
      DELETE FROM example_payloads WHERE tenant_id = $1 AND dataset_id = $2 AND ordinal IN (SELECT ordinal FROM gone)
      RETURNING octet_length(content) AS size
    )
    SELECT count(*) FILTER (WHERE until IS NULL) AS current, count(*) AS all,
      coalesce(sum(size), 0) + coalesce((SELECT sum(size) FROM contents), 0) AS bytes FROM gone`,
    values,
  );
  const removed = rows[0];
  return {
    examples: -Number(removed?.current ?? 0),
    rows: -Number(removed?.all ?? 0),
    bytes: -Number(removed?.bytes ?? 0),
  };
}
