import { randomUUID } from 'node:crypto';
import { PublicError } from '#lib/errors';
import { type Connection, inTransaction, type Pool, textTypes } from '#lib/postgres';
import { type Instant, parseInstant } from '#lib/time';
import { FEEDBACK_LIMITS } from './feedback.js';

/** Interpretation of the feedback of a key; a workspace has one for a key. */
export interface FeedbackConfig {
  readonly id: string;
  readonly key: string;
  /** JSON text of an object. */
  readonly config: string;
  readonly isLowerScoreBetter: boolean;
  readonly modifiedAt: Instant;
}

interface FeedbackConfigSearch {
  /** Keys to find; any key when undefined. */
  readonly keys?: readonly string[] | undefined;
  /** Part of the key, in any case. */
  readonly keyContains?: string | undefined;
  readonly limit: number;
  readonly offset: number;
}

/** Any number that no other lock of this database begins with. */
const CONFIGS_LOCK = 7_214_017;

const COLUMNS = 'id, key, config, is_lower_score_better, modified_at';

type Row = Readonly<Record<'id' | 'key' | 'config' | 'is_lower_score_better' | 'modified_at', string>>;

function parse(row: Row): FeedbackConfig {
  return {
    id: row.id,
    key: row.key,
    config: row.config,
    isLowerScoreBetter: row.is_lower_score_better === 't',
    modifiedAt: parseInstant(row.modified_at, { zone: 'optional' }) ?? 0n,
  };
}

/**
 * Configurations of feedback, of one tenant at a time.
 * The table `feedback_configs`.
 */
export class FeedbackConfigTable {
  constructor(private readonly pool: Pool) {}

  /**
   * @returns that of the key, which may be another one that is there already
   * @throws PublicError forbidden when the tenant has as many as it may
   */
  async ensure(
    tenantId: string,
    { key, config, isLowerScoreBetter }: Pick<FeedbackConfig, 'key' | 'config' | 'isLowerScoreBetter'>,
  ): Promise<FeedbackConfig> {
    return inTransaction(this.pool, async (client) => {
      // the lock makes concurrent inserts of one tenant count one after another
      await client.query('SELECT pg_advisory_xact_lock($1, hashtext($2))', [CONFIGS_LOCK, tenantId]);
      const found = await findOne(client, tenantId, key);
      if (found) return found;
      const { rows } = await client.query<Row>({
        text: `INSERT INTO feedback_configs (tenant_id, key, id, config, is_lower_score_better)
          SELECT $1::uuid, $2, $3::uuid, $4, $5::boolean
          WHERE (SELECT count(*) FROM feedback_configs WHERE tenant_id = $1) < $6 RETURNING ${COLUMNS}`,
        values: [tenantId, key, randomUUID(), config, isLowerScoreBetter, FEEDBACK_LIMITS.configs],
        types: textTypes,
      });
      if (rows[0]) return parse(rows[0]);
      throw new PublicError(
        'forbidden',
        `creating the feedback configuration ${key} failed: the workspace has ${FEEDBACK_LIMITS.configs}, the most that it may; delete some`,
      );
    });
  }

  /** Configurations, sorted by key. */
  async list(
    tenantId: string,
    { keys, keyContains, limit, offset }: FeedbackConfigSearch,
  ): Promise<readonly FeedbackConfig[]> {
    const { rows } = await this.pool.query<Row>({
      text: `SELECT ${COLUMNS} FROM feedback_configs WHERE tenant_id = $1 AND ($2::text[] IS NULL OR key = ANY ($2))
          AND ($3::text IS NULL OR strpos(lower(key), lower($3)) > 0)
        ORDER BY key LIMIT $4 OFFSET $5`,
      values: [tenantId, keys, keyContains, limit, offset],
      types: textTypes,
    });
    return rows.map(parse);
  }

  /**
   * Changes the configuration of a key, under a lock; undefined members stay as they are.
   * @param change of the existing configuration; what it throws is thrown
   * @returns undefined when the key has none
   */
  async update(
    tenantId: string,
    key: string,
    change: (found: FeedbackConfig) => Partial<Pick<FeedbackConfig, 'config' | 'isLowerScoreBetter'>>,
  ): Promise<FeedbackConfig | undefined> {
    return inTransaction(this.pool, async (client) => {
      const found = await findOne(client, tenantId, key, 'FOR UPDATE');
      if (!found) return undefined;
      const { config = found.config, isLowerScoreBetter = found.isLowerScoreBetter } = change(found);
      const { rows } = await client.query<Row>({
        text: `UPDATE feedback_configs SET config = $3, is_lower_score_better = $4, modified_at = clock_timestamp()
          WHERE tenant_id = $1 AND key = $2 RETURNING ${COLUMNS}`,
        values: [tenantId, key, config, isLowerScoreBetter],
        types: textTypes,
      });
      return rows[0] && parse(rows[0]);
    });
  }

  /** @returns false when there was none */
  async delete(
    tenantId: string,
    which: { readonly key: string } | { readonly id: string },
  ): Promise<boolean> {
    const [column, value] = 'key' in which ? ['key', which.key] : ['id', which.id];
    const text = `DELETE FROM feedback_configs WHERE tenant_id = $1 AND ${column} = $2`;
    return (await this.pool.query(text, [tenantId, value])).rowCount === 1;
  }
}

export type FeedbackConfigs = Pick<FeedbackConfigTable, keyof FeedbackConfigTable>;

async function findOne(
  client: Connection,
  tenantId: string,
  key: string,
  lock = '',
): Promise<FeedbackConfig | undefined> {
  const { rows } = await client.query<Row>({
    text: `SELECT ${COLUMNS} FROM feedback_configs WHERE tenant_id = $1 AND key = $2 ${lock}`,
    values: [tenantId, key],
    types: textTypes,
  });
  return rows[0] && parse(rows[0]);
}
