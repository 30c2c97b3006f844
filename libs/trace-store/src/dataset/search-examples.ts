import { PublicError } from '#lib/errors';
import { byteRows, type Connection, type Pool, type Queryable, textTypes } from '#lib/postgres';
import { formatInstant, type Instant, parseInstant } from '#lib/time';
import { limitedRead } from '../limited-read.js';
import { parseAttachments } from './attached-examples.js';
import {
  type AsOf,
  EXAMPLE_PAYLOADS,
  type ExamplePayload,
  type ExamplePayloads,
  type ExamplePlace,
  type ExampleRow,
  type ExampleSearch,
} from './dataset.js';
import { noDataset } from './write-version.js';

/**
 * Reads of a dataset, all of it from one moment: a condition that no index serves may read the whole.
 * @param what name of the operation, for the error
 * @throws PublicError bad_request when a statement takes too long
 */
export function timedRead<T>(pool: Pool, read: (db: Connection) => Promise<T>, what: string): Promise<T> {
  const advice = 'ask for fewer, or without metadata and splits';
  return limitedRead(pool, read, { what, advice, isOneMoment: true });
}

/** SQL of the content that a row of `e` has for a field, or of the part that `select` names. */
function contentOf(field: ExamplePayload, select = 'content'): string {
  return `(SELECT ${select} FROM example_payloads p WHERE p.tenant_id = e.tenant_id AND p.dataset_id = e.dataset_id
    AND p.ordinal = e.ordinal AND p.hash = e.${field}_hash)`;
}

const BYTES = EXAMPLE_PAYLOADS.map(
  (field) => `coalesce(${contentOf(field, 'octet_length(content)')}, 0)::bigint`,
).join(' + ');

/**
 * SQL that is true for a row of `e` that is part of the version whose time is the parameter; without one, of
 * the newest version.
 */
export function isPartOf(version: string | undefined): string {
  if (version === undefined) return 'e.until IS NULL';
  return `e.since <= ${version} AND (e.until IS NULL OR e.until > ${version})`;
}

/**
 * The time that a version has.
 * @returns undefined for the newest one
 * @throws PublicError not_found when the dataset has no such tag
 */
export async function timeOf(
  db: Queryable,
  tenantId: string,
  datasetId: string | undefined,
  asOf: AsOf | undefined,
): Promise<Instant | undefined> {
  if (asOf === undefined) return undefined;
  if (asOf.kind === 'time') return asOf.time;
  if (asOf.tag === 'latest') return undefined;
  const { rows } = await db.query<{ as_of: string }>({
    text: 'SELECT as_of FROM dataset_tags WHERE tenant_id = $1 AND dataset_id = $2 AND tag = $3',
    values: [tenantId, datasetId, asOf.tag],
    types: textTypes,
  });
  const found = rows[0] && parseInstant(rows[0].as_of, { zone: 'optional' });
  if (found === undefined)
    throw new PublicError(
      'not_found',
      `Dataset version ${asOf.tag} not found: it is neither a time nor a tag`,
    );
  return found;
}

/** @throws PublicError not_found when it does not exist, or is being deleted */
export async function requireDataset(db: Queryable, tenantId: string, id: string): Promise<void> {
  const { rows } = await db.query(
    'SELECT FROM datasets WHERE tenant_id = $1 AND id = $2 AND deleted_at IS NULL',
    [tenantId, id],
  );
  if (rows.length === 0) throw noDataset(id);
}

/** A page of the matching examples of a tenant, without their payloads. */
export async function searchExamples(
  pool: Pool,
  tenantId: string,
  search: ExampleSearch,
): Promise<readonly ExampleRow[]> {
  return timedRead(pool, (db) => readPage(db, tenantId, search), 'Finding these examples');
}

async function readPage(
  db: Connection,
  tenantId: string,
  search: ExampleSearch,
): Promise<readonly ExampleRow[]> {
  const { datasetId, ids, splits, metadata, limit, offset } = search;
  if (datasetId !== undefined) await requireDataset(db, tenantId, datasetId);
  const time = await timeOf(db, tenantId, datasetId, search.asOf);
  const values: unknown[] = [tenantId];
  const bind = (value: unknown, type: string): string => `$${values.push(value)}::${type}`;
  const wanted = ['e.tenant_id = $1'];
  if (datasetId !== undefined) wanted.push(`e.dataset_id = ${bind(datasetId, 'uuid')}`);
  else
    wanted.push(`EXISTS (SELECT FROM datasets d
      WHERE d.tenant_id = $1 AND d.id = e.dataset_id AND d.deleted_at IS NULL)`);
  wanted.push(isPartOf(time === undefined ? undefined : bind(formatInstant(time), 'timestamptz')));
  if (ids) wanted.push(`e.id = ANY (${bind(ids, 'uuid[]')})`);
  if (splits) wanted.push(`e.splits && ${bind(splits, 'text[]')}`);
  if (metadata !== undefined)
    wanted.push(
      contentOf(
        'metadata',
        `CASE WHEN pg_input_is_valid(content, 'jsonb') THEN content::jsonb @> ${bind(metadata, 'jsonb')} END`,
      ),
    );
  const { rows } = await db.query<TextRow>({
    // contents are read for the page alone, and not for the rows before it
    text: `SELECT e.dataset_id, e.ordinal, e.since, e.id, e.created_at, e.source_run_id, e.splits, e.attachments,
        ${BYTES} AS bytes
      FROM (
        SELECT * FROM example_versions e WHERE ${wanted.join(' AND ')}
        ORDER BY e.dataset_id, e.ordinal LIMIT ${bind(limit, 'bigint')} OFFSET ${bind(offset, 'bigint')}
      ) e ORDER BY e.dataset_id, e.ordinal`,
    values,
    types: textTypes,
  });
  return rows.map(parseRow);
}

type TextRow = Readonly<
  Record<'dataset_id' | 'ordinal' | 'since' | 'id' | 'created_at' | 'bytes', string>
> & {
  readonly source_run_id: string | null;
  readonly attachments: string | null;
  readonly splits: readonly string[];
};

function instant(text: string): Instant {
  return parseInstant(text, { zone: 'optional' }) ?? 0n;
}

function parseRow(row: TextRow): ExampleRow {
  return {
    id: row.id,
    datasetId: row.dataset_id,
    ordinal: row.ordinal,
    since: instant(row.since),
    createdAt: instant(row.created_at),
    sourceRunId: row.source_run_id ?? undefined,
    splits: row.splits,
    bytes: Number(row.bytes),
    attachments: parseAttachments(row.attachments),
  };
}

/** The given payloads of versions of examples, in their order. */
export async function readPayloads(
  pool: Pool,
  tenantId: string,
  places: readonly ExamplePlace[],
  fields: readonly ExamplePayload[],
): Promise<readonly ExamplePayloads[]> {
  if (places.length === 0 || fields.length === 0) return places.map(() => ({}));
  const { rows } = await pool.query<Record<string, Buffer | null>>({
    text: `SELECT k.at::text, ${fields.map((field) => `${contentOf(field)} AS ${field}`).join(', ')}
      FROM unnest($2::uuid[], $3::bigint[], $4::timestamptz[]) WITH ORDINALITY AS k(dataset_id, ordinal, since, at)
      CROSS JOIN LATERAL (
        SELECT * FROM example_versions WHERE tenant_id = $1 AND dataset_id = k.dataset_id AND ordinal = k.ordinal
          AND since = k.since LIMIT 1
      ) e`,
    values: [
      tenantId,
      places.map(({ datasetId }) => datasetId),
      places.map(({ ordinal }) => ordinal),
      places.map(({ since }) => formatInstant(since)),
    ],
    ...byteRows,
  });
  const found = new Map(rows.map(({ at, ...row }) => [Number(String(at)), row]));
  return places.map((_place, n) => {
    const row = found.get(n + 1) ?? {};
    return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null));
  });
}
