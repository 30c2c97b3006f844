import { PublicError } from '#lib/errors';
import { inTransaction, sqlState, type Connection, type Pool } from '#lib/postgres';
import { formatInstant } from '#lib/time';
import type {
  ExamplePayload,
  ExamplePayloads,
  ExamplePlace,
  ExampleRow,
  Examples,
  ExampleSearch,
  ExampleWrite,
  WrittenExamples,
} from './example.js';
import { readPayloads, searchExamples } from './search-examples.js';
import { writeVersion, writeVersionIn, type OpenVersion } from './write-version.js';

/** SQLSTATE of a unique key that is violated. */
const TAKEN = '23505';
/** Of one statement, whose text and values are held beside the request's. */
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
] as const;
const NAMES = SENT.map(([name]) => name).join(', ');

/** The table `example_versions`. */
export class ExampleTable implements Examples {
  constructor(private readonly pool: Pool) {}

  async add(
    tenantId: string,
    datasetId: string,
    examples: readonly ExampleWrite[],
  ): Promise<WrittenExamples> {
    const ids = examples.map(({ id }) => id);
    try {
      return await writeVersion(this.pool, tenantId, datasetId, async (version) => {
        await requireFree(version, ids);
        for (const [from, some] of inSlices(examples)) await insert(version, some, from);
        const made = examples.length;
        return { examples: made, rows: made, made, result: { ids, asOf: version.asOf } };
      });
    } catch (error) {
      if (sqlState(error) !== TAKEN) throw error;
      // in another dataset, at this very moment
      throw new PublicError('conflict', 'Example with one of these ids already exists', [], { cause: error });
    }
  }

  async change(
    tenantId: string,
    datasetId: string,
    changes: readonly ExampleWrite[],
  ): Promise<WrittenExamples> {
    const ids = changes.map(({ id }) => id);
    return writeVersion(this.pool, tenantId, datasetId, async (version) => {
      const changed = new Set<string>();
      for (const [, some] of inSlices(changes))
        for (const id of await replace(version, some)) changed.add(id);
      const missing = ids.find((id) => !changed.has(id));
      if (missing !== undefined)
        throw new PublicError('not_found', `Example ${missing} not found in dataset ${datasetId}`);
      return { examples: 0, rows: changed.size, result: { ids, asOf: version.asOf } };
    });
  }

  async delete(tenantId: string, ids: readonly string[], isHard: boolean): Promise<void> {
    await inTransaction(this.pool, async (db) => {
      const byDataset = await datasetsOf(db, tenantId, ids, isHard);
      // in one order: two deletions wait for one another instead of deadlocking
      for (const [datasetId, some] of [...byDataset].sort(([one], [other]) => (one < other ? -1 : 1)))
        await writeVersionIn(db, tenantId, datasetId, (version) => end(version, some, isHard));
    });
  }

  search(tenantId: string, search: ExampleSearch): Promise<readonly ExampleRow[]> {
    return searchExamples(this.pool, tenantId, search);
  }

  payloads(
    tenantId: string,
    rows: readonly ExamplePlace[],
    fields: readonly ExamplePayload[],
  ): Promise<readonly ExamplePayloads[]> {
    return readPayloads(this.pool, tenantId, rows, fields);
  }
}

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

/** Rows of `SENT` as a table of a statement whose parameters they begin after. */
function sentRows(examples: readonly ExampleWrite[], after: number): string {
  const tuples = examples.map(
    (_example, n) =>
      `(${n}, ${SENT.map(([, type], i) => `$${after + n * SENT.length + i + 1}::${type}`).join(', ')})`,
  );
  return `(VALUES ${tuples.join(', ')}) AS v(n, ${NAMES})`;
}

function valuesOf(examples: readonly ExampleWrite[]): unknown[] {
  return examples.flatMap(({ id, createdAt, sourceRunId, splits, metadata, inputs, outputs }) => [
    id,
    createdAt === undefined ? null : formatInstant(createdAt),
    ...[sourceRunId, splits, metadata, inputs, outputs].map((value) => value ?? null),
  ]);
}

async function requireFree({ db, tenantId }: OpenVersion, ids: readonly string[]): Promise<void> {
  const { rows } = await db.query<{ id: string }>(
    `SELECT id FROM example_versions WHERE tenant_id = $1 AND id = ANY ($2::uuid[]) AND until IS NULL LIMIT 1`,
    [tenantId, ids],
  );
  if (rows[0]) throw new PublicError('conflict', `Example with ID ${rows[0].id} already exists`);
}

async function insert(version: OpenVersion, examples: readonly ExampleWrite[], from: number): Promise<void> {
  const { db, tenantId, datasetId, asOf, made } = version;
  await db.query(
    `INSERT INTO example_versions (tenant_id, dataset_id, ordinal, since, ${NAMES})
    SELECT $1, $2, $4::bigint + n, $3::timestamptz, id, coalesce(created_at, $3::timestamptz), source_run_id,
      coalesce(splits, '{base}'), metadata, inputs, outputs
    FROM ${sentRows(examples, 4)}`,
    [tenantId, datasetId, formatInstant(asOf), String(made + BigInt(from)), ...valuesOf(examples)],
  );
}

/** Ends the versions that are current, and adds others with what is new. @returns ids of those that there were */
async function replace(version: OpenVersion, changes: readonly ExampleWrite[]): Promise<readonly string[]> {
  const { db, tenantId, datasetId, asOf } = version;
  const { rows } = await db.query<{ id: string }>(
    `WITH ended AS (
      UPDATE example_versions e SET until = $3::timestamptz FROM ${sentRows(changes, 3)}
      WHERE e.tenant_id = $1 AND e.dataset_id = $2 AND e.id = v.id AND e.until IS NULL
      RETURNING e.ordinal, e.id, e.created_at, e.source_run_id, coalesce(v.splits, e.splits) AS splits,
        coalesce(v.metadata, e.metadata) AS metadata, coalesce(v.inputs, e.inputs) AS inputs,
        coalesce(v.outputs, e.outputs) AS outputs
    )
    INSERT INTO example_versions (tenant_id, dataset_id, ordinal, since, ${NAMES})
    SELECT $1, $2, ordinal, $3::timestamptz, ${NAMES} FROM ended RETURNING id`,
    [tenantId, datasetId, formatInstant(asOf), ...valuesOf(changes)],
  );
  return rows.map(({ id }) => id);
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
): Promise<{ examples: number; rows: number; result: undefined }> {
  const values = [tenantId, datasetId, ids];
  const of = 'tenant_id = $1 AND dataset_id = $2 AND id = ANY ($3::uuid[])';
  if (!isHard) {
    const text = `UPDATE example_versions SET until = $4::timestamptz WHERE ${of} AND until IS NULL`;
    const { rowCount } = await db.query(text, [...values, formatInstant(asOf)]);
    return { examples: -(rowCount ?? 0), rows: 0, result: undefined };
  }
  const { rows } = await db.query<{ current: string; all: string }>(
    `WITH gone AS (DELETE FROM example_versions WHERE ${of} RETURNING until)
    SELECT count(*) FILTER (WHERE until IS NULL) AS current, count(*) AS all FROM gone`,
    values,
  );
  return {
    examples: -Number(rows[0]?.current ?? 0),
    rows: -Number(rows[0]?.all ?? 0),
    result: undefined,
  };
}
