import { PublicError } from '#lib/errors';
import { inTransaction, type Pool, type Queryable, textTypes } from '#lib/postgres';
import { formatInstant, type Instant, parseInstant } from '#lib/time';
import type { AsOf, DatasetVersion, VersionDifference } from './dataset.js';
import { isPartOf, requireDataset, timedRead, timeOf } from './search-examples.js';
import {
  noDataset,
  type OpenVersion,
  ROW_BYTES,
  type VersionCounts,
  type VersionWriter,
} from './write-version.js';

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

/** Maximum number of tags per dataset: test runners leave one for each commit. */
const MAX_TAGS = 10_000;

interface VersionRow {
  readonly as_of: string;
  readonly tags: readonly string[] | null;
}

const VERSION = `v.as_of, (SELECT array_agg(t.tag ORDER BY t.tag) FROM dataset_tags t
  WHERE t.tenant_id = v.tenant_id AND t.dataset_id = v.dataset_id AND t.as_of = v.as_of) AS tags
  FROM dataset_versions v WHERE v.tenant_id = $1 AND v.dataset_id = $2`;

/**
 * Versions of the datasets of one tenant. Every call but `find` throws PublicError not_found for a dataset that is not there.
 * The tables `dataset_versions` and `dataset_tags`.
 */
export class DatasetVersionTable {
  constructor(
    private readonly pool: Pool,
    private readonly writer: VersionWriter,
  ) {}

  /** Newest first. */
  async list(
    tenantId: string,
    datasetId: string,
    {
      limit,
      offset,
      search,
    }: { readonly limit: number; readonly offset: number; readonly search?: string | undefined },
  ): Promise<readonly DatasetVersion[]> {
    return timedRead(
      this.pool,
      async (db) => {
        await requireDataset(db, tenantId, datasetId);
        const named = `AND ($5::text IS NULL OR EXISTS (SELECT FROM dataset_tags t WHERE t.tenant_id = v.tenant_id
          AND t.dataset_id = v.dataset_id AND t.as_of = v.as_of AND strpos(lower(t.tag), lower($5)) > 0))`;
        const { rows } = await db.query<VersionRow>({
          text: `SELECT ${VERSION} ${named} ORDER BY v.as_of DESC LIMIT $3 OFFSET $4`,
          values: [tenantId, datasetId, limit, offset, search],
          types: textTypes,
        });
        return withLatest(rows, offset === 0 && search === undefined);
      },
      'Finding these versions',
    );
  }

  /** The newest version at a time, or that of a tag. @throws PublicError not_found */
  async get(tenantId: string, datasetId: string, asOf: AsOf): Promise<DatasetVersion> {
    return timedRead(
      this.pool,
      async (db) => {
        await requireDataset(db, tenantId, datasetId);
        return versionAt(db, tenantId, datasetId, await timeOf(db, tenantId, datasetId, asOf));
      },
      'Finding the version',
    );
  }

  /**
   * Gives the newest version at that time the tag, which another one loses.
   * @throws PublicError not_found when no version is as old; forbidden when the dataset has as many tags as it may
   */
  async tag(tenantId: string, datasetId: string, asOf: Instant, tag: string): Promise<DatasetVersion> {
    return inTransaction(this.pool, async (db) => {
      // tags of one dataset are added one after another, so that their count stays true
      const { rows } = await db.query(
        'SELECT FROM datasets WHERE tenant_id = $1 AND id = $2 AND deleted_at IS NULL FOR UPDATE',
        [tenantId, datasetId],
      );
      if (rows.length === 0) throw noDataset(datasetId);
      const version = await versionAt(db, tenantId, datasetId, asOf);
      await db.query(
        `INSERT INTO dataset_tags (tenant_id, dataset_id, tag, as_of) VALUES ($1, $2, $3, $4)
        ON CONFLICT (tenant_id, dataset_id, tag) DO UPDATE SET as_of = excluded.as_of`,
        [tenantId, datasetId, tag, formatInstant(version.asOf)],
      );
      const { rows: counted } = await db.query<{ count: string }>(
        'SELECT count(*) AS count FROM dataset_tags WHERE tenant_id = $1 AND dataset_id = $2',
        [tenantId, datasetId],
      );
      if (Number(counted[0]?.count) > MAX_TAGS)
        throw new PublicError(
          'forbidden',
          `adding the tag ${tag} failed: the dataset ${datasetId} has ${MAX_TAGS} tags, the most that it may; move one of them`,
        );
      return versionAt(db, tenantId, datasetId, version.asOf);
    });
  }

  /** Changes of the examples from one version to another. */
  async diff(tenantId: string, datasetId: string, from: AsOf, to: AsOf): Promise<VersionDifference> {
    return timedRead(
      this.pool,
      async (db) => {
        await requireDataset(db, tenantId, datasetId);
        const values: unknown[] = [tenantId, datasetId];
        const at = async (asOf: AsOf): Promise<string> => {
          const time = await timeOf(db, tenantId, datasetId, asOf);
          const bound = time === undefined ? undefined : `$${values.push(formatInstant(time))}::timestamptz`;
          return `SELECT id, since FROM example_versions e WHERE tenant_id = $1 AND dataset_id = $2 AND ${isPartOf(bound)}`;
        };
        const [before, after] = [await at(from), await at(to)];
        const { rows } = await db.query<{ kind: keyof VersionDifference; ids: string[] }>(
          `SELECT CASE WHEN a.id IS NULL THEN 'removed' WHEN b.id IS NULL THEN 'added' ELSE 'modified' END AS kind,
            array_agg(coalesce(a.id, b.id) ORDER BY coalesce(a.id, b.id)) AS ids
          FROM (${before}) b FULL JOIN (${after}) a ON a.id = b.id WHERE a.since IS DISTINCT FROM b.since GROUP BY 1`,
          values,
        );
        const of = (kind: keyof VersionDifference) => rows.find((row) => row.kind === kind)?.ids ?? [];
        return { modified: of('modified'), added: of('added'), removed: of('removed') };
      },
      'Comparing the versions',
    );
  }

  /** Names of the splits that examples of a version are in. */
  async splits(tenantId: string, datasetId: string, asOf?: AsOf): Promise<readonly string[]> {
    return timedRead(
      this.pool,
      async (db) => {
        await requireDataset(db, tenantId, datasetId);
        const time = await timeOf(db, tenantId, datasetId, asOf);
        const { rows } = await db.query<{ split: string }>(
          `SELECT DISTINCT unnest(e.splits) AS split FROM example_versions e
          WHERE e.tenant_id = $1 AND e.dataset_id = $2 AND ${isPartOf(time === undefined ? undefined : '$3::timestamptz')}
          ORDER BY 1 LIMIT 10000`,
          [tenantId, datasetId, ...(time === undefined ? [] : [formatInstant(time)])],
        );
        return rows.map(({ split }) => split);
      },
      'Finding the splits',
    );
  }

  /**
   * Puts examples into a split, or takes them out, as one version. @throws PublicError not_found for an example
   */
  async moveSplit(
    tenantId: string,
    datasetId: string,
    {
      split,
      ids,
      isRemoved,
    }: { readonly split: string; readonly ids: readonly string[]; readonly isRemoved: boolean },
  ): Promise<void> {
    const moved = isRemoved
      ? `array_remove(splits, $5::text)`
      : `CASE WHEN $5::text = ANY (splits) THEN splits ELSE array_append(splits, $5::text) END`;
    await this.writer.write(tenantId, datasetId, async (version) => {
      const made = await replaceVersions(version, {
        found: `found AS (
          SELECT ordinal, since, id, created_at, source_run_id, metadata_hash, inputs_hash, outputs_hash, attachments,
            coalesce(nullif(${moved}, '{}'), '{base}') AS splits
          FROM example_versions WHERE tenant_id = $1 AND dataset_id = $2 AND id = ANY ($4::uuid[]) AND until IS NULL
        )`,
        values: [ids, split],
      });
      requireAll(ids, made.ids, datasetId);
      return made;
    });
  }
}

export type DatasetVersions = Pick<DatasetVersionTable, keyof DatasetVersionTable>;

/** The newest version at that time; of all without one. @throws PublicError not_found */
async function versionAt(
  db: Queryable,
  tenantId: string,
  datasetId: string,
  time: Instant | undefined,
): Promise<DatasetVersion> {
  const { rows } = await db.query<VersionRow>({
    text: `SELECT ${VERSION} AND ($3::timestamptz IS NULL OR v.as_of <= $3) ORDER BY v.as_of DESC LIMIT 1`,
    values: [tenantId, datasetId, time === undefined ? null : formatInstant(time)],
    types: textTypes,
  });
  const [version] = withLatest(rows, time === undefined);
  if (version) return version;
  throw new PublicError(
    'not_found',
    `Dataset version not found: the dataset ${datasetId} had no examples${time === undefined ? '' : ` at ${formatInstant(time)}`}`,
  );
}

/** Adds the tag `latest`, which is not stored: it names the newest version. */
function withLatest(rows: readonly VersionRow[], hasNewest: boolean): DatasetVersion[] {
  return rows.map(({ as_of, tags }, at) => ({
    asOf: parseInstant(as_of, { zone: 'optional' }) ?? 0n,
    tags: [...(hasNewest && at === 0 ? ['latest'] : []), ...(tags ?? [])],
  }));
}
