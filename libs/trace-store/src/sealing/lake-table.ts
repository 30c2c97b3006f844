import { errorText } from '#lib/errors';
import {
  type DataFile,
  hintKey,
  metadataKey,
  renderManifest,
  renderManifestList,
  renderTableMetadata,
  type TableShape,
  type WrittenManifest,
} from '#lib/iceberg';
import { type Connection, inTransaction, type Pool, type Queryable } from '#lib/postgres';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import { SEGMENT_COLUMNS } from '../export/export-columns.js';
import { tableColumns } from '../export/table-columns.js';
import type { LakeStore } from '../lake/segment-reader.js';
import { eachStep } from '../limited-read.js';
import { type ProjectDay, type LakeTable, LONGEST_READ } from './lake.js';

/** Tables that one call publishes. */
const PUBLISHED_AT_ONCE = 200;
/** A table waits for days of its project that are about to be sealed, but no longer than this. */
const LONGEST_WAIT = '10 minutes';
/** Pause after the first failure; it doubles up to the longest. */
const PAUSE_S = 60;
const LONGEST_PAUSE_S = 6 * 3_600;
const MAX_ERROR_CHARS = 1_000;

const COMMENT =
  'Runs of sealed days, as they were when their day was sealed. A run that was changed or deleted since is here as it was ' +
  'until its day is sealed again. Days that are not sealed are not here.';

const COLUMNS = tableColumns(SEGMENT_COLUMNS, 'runs', 'v2_beta');
const START_TIME = COLUMNS.find(({ name }) => name === 'start_time');

/** Assignments that note a failed attempt. @param error its words, as SQL */
export function failureSql(error: string): string {
  return `attempts = attempts + 1, error = left(${error}, ${MAX_ERROR_CHARS}), next_at = clock_timestamp()
    + make_interval(secs => least(${LONGEST_PAUSE_S}, ${PAUSE_S} * 2 ^ least(attempts, 20)))`;
}

/** A project, whose sealed days are one table. */
type TableOwner = Pick<ProjectDay, 'tenantId' | 'projectId'>;

/** Notes that other files of the project are in force, in the transaction that puts them in force. */
export async function noteTableChange(db: Queryable, { tenantId, projectId }: TableOwner): Promise<void> {
  await db.query(
    `INSERT INTO lake_tables AS t (tenant_id, project_id, behind_since) VALUES ($1, $2, clock_timestamp())
    ON CONFLICT (tenant_id, project_id) DO UPDATE SET changes = t.changes + 1,
      behind_since = coalesce(t.behind_since, clock_timestamp())`,
    [tenantId, projectId],
  );
}

/** A run that was moved may be in the files of two days until the second is sealed again. */
const IS_DUE = `t.behind_since IS NOT NULL AND (t.next_at IS NULL OR t.next_at <= clock_timestamp())
  AND (t.behind_since < clock_timestamp() - interval '${LONGEST_WAIT}' OR NOT EXISTS (
    SELECT FROM lake_days d WHERE d.tenant_id = t.tenant_id AND d.project_id = t.project_id
      AND d.next_at <= clock_timestamp() AND d.attempts = 0))`;

/** Number of tables that wait for a worker. */
export async function countDueTables(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ due: number }>(
    `SELECT count(*)::int AS due FROM lake_tables t WHERE ${IS_DUE}`,
  );
  return rows[0]?.due ?? 0;
}

/** Tables of a tenant's projects, or of some of them, by the names of the projects. */
export async function listTables(
  db: Queryable,
  tenantId: string,
  projectIds?: readonly string[],
): Promise<readonly LakeTable[]> {
  const { rows } = await db.query<LakeTable>(
    `SELECT t.project_id AS "projectId", p.name AS "projectName", published_version AS version,
      metadata_key AS "metadataKey", published_at AS "publishedAt", behind_since AS "behindSince", attempts,
      next_at AS "nextAt", error
    FROM lake_tables t JOIN projects p ON p.tenant_id = t.tenant_id AND p.id = t.project_id
    WHERE t.tenant_id = $1 AND ($2::uuid[] IS NULL OR t.project_id = ANY ($2)) ORDER BY p.name`,
    [tenantId, projectIds ?? null],
  );
  return rows;
}

/** Files of a project's day: all that are in force. */
interface DaySet {
  /** Day and generation. */
  readonly name: string;
  readonly files: readonly DataFile[];
}

/**
 * Files in force. Those of a generation that its worker did not finish are in force beside those of the generation before,
 * whose rows they have again: they are left out.
 */
async function readSets(db: Queryable, bucket: string, owner: TableOwner): Promise<readonly DaySet[]> {
  const { rows } = await db.query<Readonly<Record<'set' | 'day' | 'key', string>> & SegmentNumbers>(
    `SELECT concat_ws('-', s.day, s.generation) AS set, s.day::text, s.key, s.rows::float8, s.bytes::float8,
      (extract(epoch FROM s.first_time) * 1000000)::bigint::text AS first,
      (extract(epoch FROM s.last_time) * 1000000)::bigint::text AS last
    FROM lake_segments s JOIN lake_days d USING (tenant_id, project_id, day, generation)
    WHERE tenant_id = $1 AND project_id = $2 AND s.state = 'sealed' ORDER BY s.day, s.first_time, s.key`,
    [owner.tenantId, owner.projectId],
  );
  return [...Map.groupBy(rows, ({ set }) => set)].map(([name, segments]) => ({
    name,
    files: segments.map(({ key, day, rows: count, bytes, first, last }) => ({
      path: urlOf(bucket, key),
      day,
      rows: count,
      bytes,
      ...(first === null || last === null ? {} : { bounds: { min: BigInt(first), max: BigInt(last) } }),
    })),
  }));
}

interface SegmentNumbers {
  readonly rows: number;
  readonly bytes: number;
  readonly first: string | null;
  readonly last: string | null;
}

const urlOf = (bucket: string, key: string): string => `s3://${bucket}/${key}`;

/** An object of a table that is not written yet. */
interface NewObject {
  readonly key: string;
  readonly content: Buffer;
}

/** A version of a table that was begun. */
interface Draft {
  readonly version: number;
  /** Changes that it shows. */
  readonly changes: number;
  /** In the order in which they are written: one names those before it. */
  readonly objects: readonly NewObject[];
  readonly metadataKey: string;
  /** Keys of all objects that it consists of. */
  readonly named: readonly string[];
}

/** A version number with what was there before it. */
interface BegunVersion {
  readonly version: number;
  readonly changes: number;
  readonly sets: readonly DaySet[];
  /** Manifests of the published version. */
  readonly manifests: ReadonlyMap<string, Pick<WrittenManifest, 'snapshotId' | 'length'>>;
}

/** Renders a version: a manifest for each set that has none, the list of all manifests, metadata, and the hint at them. */
function renderVersion(
  { bucket, prefix }: Pick<LakeStore, 'bucket' | 'prefix'>,
  { tenantId, projectId }: TableOwner,
  { version, changes, sets, manifests: former }: BegunVersion,
  at: Date,
): Draft {
  const folder = `${prefix}/${tenantId}/${projectId}/table`;
  const shape: TableShape = { tableId: projectId, columns: COLUMNS, dayOf: START_TIME, comment: COMMENT };
  const objects: NewObject[] = [];
  const add = (key: string, content: Buffer | string): number => {
    const bytes = Buffer.from(content);
    objects.push({ key, content: bytes });
    return bytes.length;
  };
  const keys = sets.map(({ name }) => `${folder}/metadata/${name}.avro`);
  const manifests = sets.map(({ files }, n): WrittenManifest => {
    const key = keys[n] ?? '';
    const { snapshotId, length } = former.get(key) ?? {
      snapshotId: version,
      length: add(key, renderManifest(shape, version, files)),
    };
    return { path: urlOf(bucket, key), length, snapshotId, sequenceNumber: snapshotId, files };
  });
  const listKey = `${folder}/metadata/snap-${version}.avro`;
  add(listKey, renderManifestList(shape, { snapshotId: version, sequenceNumber: version, manifests }));
  const all = sets.flatMap(({ files }) => files);
  const snapshot = {
    operation: 'overwrite',
    snapshotId: version,
    at,
    manifestList: urlOf(bucket, listKey),
    files: all.length,
    rows: all.reduce((sum, { rows }) => sum + rows, 0),
    bytes: all.reduce((sum, { bytes }) => sum + bytes, 0),
    about: {},
  } as const;
  // former snapshots are not kept: their files are deleted
  const before = { 'table-uuid': projectId, 'last-sequence-number': version - 1, snapshots: [] };
  const key = metadataKey(folder, version);
  add(key, renderTableMetadata(shape, urlOf(bucket, folder), snapshot, before));
  add(hintKey(folder), String(version));
  const named = [...new Set([...keys, ...objects.map((object) => object.key)])];
  return { version, changes, objects, metadataKey: key, named };
}

/** Takes the next version and notes its objects before any of them is written; undefined: the project was deleted. */
function beginVersion(
  pool: Pool,
  place: Pick<LakeStore, 'bucket' | 'prefix'>,
  owner: TableOwner,
  at: Date,
): Promise<Draft | undefined> {
  const { tenantId, projectId } = owner;
  return inTransaction(pool, async (client) => {
    // it holds the row, so that no other files come into force before they are read
    const begun = await client.query<{ version: number; changes: string }>(
      `UPDATE lake_tables SET version = version + 1 WHERE tenant_id = $1 AND project_id = $2 RETURNING version, changes`,
      [tenantId, projectId],
    );
    const [row] = begun.rows;
    if (!row) return undefined;
    const files = await client.query<{ key: string; snapshotId: number; length: number }>(
      `SELECT f.key, f.version AS "snapshotId", f.bytes AS length
      FROM lake_table_files f JOIN lake_tables t USING (tenant_id, project_id)
      WHERE tenant_id = $1 AND project_id = $2 AND f.version <= t.published_version`,
      [tenantId, projectId],
    );
    const manifests = new Map(files.rows.map((file) => [file.key, file]));
    const sets = await readSets(client, place.bucket, owner);
    const changes = Number(row.changes);
    const draft = renderVersion(place, owner, { version: row.version, changes, sets, manifests }, at);
    const keys = draft.objects.map(({ key }) => key);
    // a restored database counts from its own version, and the objects of the numbers after it were to be deleted
    await client.query('DELETE FROM lake_garbage WHERE key = ANY ($1::text[])', [keys]);
    await client.query(
      `INSERT INTO lake_table_files (tenant_id, project_id, key, version, bytes)
      SELECT $1, $2, n.key, $3, n.bytes FROM unnest($4::text[], $5::int[]) AS n(key, bytes)
      ON CONFLICT (key) DO UPDATE SET version = excluded.version, bytes = excluded.bytes`,
      [tenantId, projectId, draft.version, keys, draft.objects.map(({ content }) => content.length)],
    );
    return draft;
  });
}

/** Gives readers a version whose objects are all written; those that it does not name go when the longest read has ended. */
function endVersion(pool: Pool, { tenantId, projectId }: TableOwner, draft: Draft): Promise<void> {
  return inTransaction(pool, async (client) => {
    const { rowCount } = await client.query(
      `UPDATE lake_tables SET published_version = $3, metadata_key = $4, published_at = clock_timestamp(),
        behind_since = CASE WHEN changes <> $5 THEN clock_timestamp() END, attempts = 0, next_at = NULL, error = NULL
      WHERE tenant_id = $1 AND project_id = $2 AND version = $3`,
      [tenantId, projectId, draft.version, draft.metadataKey, draft.changes],
    );
    // the project was deleted, and its objects are garbage
    if (rowCount !== 1) return;
    await client.query(
      `WITH gone AS (
        DELETE FROM lake_table_files WHERE tenant_id = $1 AND project_id = $2 AND key <> ALL ($3::text[]) RETURNING key
      )
      INSERT INTO lake_garbage (key, since) SELECT key, clock_timestamp() + interval '${LONGEST_READ}' FROM gone
      ON CONFLICT DO NOTHING`,
      [tenantId, projectId, draft.named],
    );
  });
}

/** True while the transaction is the only one that publishes the table. */
async function holdTable(client: Connection, { projectId }: TableOwner): Promise<boolean> {
  const { rows } = await client.query<{ held: boolean }>(
    'SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0)) AS held',
    [`table of ${projectId}`],
  );
  return rows[0]?.held ?? false;
}

interface PublisherParts {
  readonly pool: Pool;
  readonly place: LakeStore;
  readonly log: Logger;
  readonly clock: Pick<Clock, 'now'>;
}

/**
 * Publishes the sealed days of projects as tables of Apache Iceberg. Every version is the whole table: one snapshot of all
 * files in force. A worker that dies leaves the version before, and a mark that the table is behind; the next one takes
 * another number and writes what is missing.
 */
export class TablePublisher {
  constructor(private readonly parts: PublisherParts) {}

  /**
   * Publishes all tables that are due.
   * @throws the errors of those that failed, which are noted and postponed
   */
  async publish(signal: AbortSignal): Promise<void> {
    const { rows } = await this.parts.pool.query<TableOwner>(
      `SELECT tenant_id AS "tenantId", project_id AS "projectId" FROM lake_tables t WHERE ${IS_DUE}
      ORDER BY behind_since LIMIT ${PUBLISHED_AT_ONCE}`,
    );
    await eachStep(rows.map((owner) => () => this.#publishOne(owner, signal)));
  }

  async #publishOne(owner: TableOwner, signal: AbortSignal): Promise<void> {
    const { pool, log } = this.parts;
    try {
      await inTransaction(pool, async (client) => {
        if (await holdTable(client, owner)) await this.#write(owner, signal);
      });
    } catch (error) {
      if (signal.aborted) throw error;
      const problem = errorText(error);
      log.warn({ ...owner, problem }, 'publishing a table of sealed days failed; retrying later');
      await pool.query(
        `UPDATE lake_tables SET ${failureSql('$3')} WHERE tenant_id = $1 AND project_id = $2`,
        [owner.tenantId, owner.projectId, problem],
      );
      throw error;
    }
  }

  async #write(owner: TableOwner, signal: AbortSignal): Promise<void> {
    const { pool, place, log, clock } = this.parts;
    signal.throwIfAborted();
    const draft = await beginVersion(pool, place, owner, clock.now());
    if (!draft) return;
    for (const { key, content } of draft.objects) {
      signal.throwIfAborted();
      await place.store.put(place.bucket, key, content);
    }
    await endVersion(pool, owner, draft);
    log.info({ ...owner, version: draft.version }, 'published the table of sealed days');
  }
}
