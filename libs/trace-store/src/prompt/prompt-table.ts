import { randomUUID } from 'node:crypto';
import { PublicError } from '#lib/errors';
import { type Connection, inTransaction, type Pool, type Queryable, textTypes } from '#lib/postgres';
import { parseInstant } from '#lib/time';
import { type Prompt, PROMPT_LIMITS, type PromptDetails, type Prompts, type PromptSearch } from './prompt.js';

/** Any number that no other lock of this database begins with. */
const LOCK = 7_214_023;

type Row = Readonly<Record<string, string>> & {
  readonly tags: readonly string[];
  readonly commit_tags: readonly string[];
  readonly last_hash: string | null;
};

const COLUMNS = `p.tenant_id, p.id, p.name, p.description, p.readme, p.tags, p.is_archived, p.is_liked, p.commits,
  p.created_at, p.updated_at,
  (SELECT c.hash FROM prompt_commits c
    WHERE c.tenant_id = p.tenant_id AND c.prompt_id = p.id AND c.number = p.commits) AS last_hash,
  ARRAY(SELECT t.name FROM prompt_commit_tags t
    WHERE t.tenant_id = p.tenant_id AND t.prompt_id = p.id ORDER BY t.name) AS commit_tags`;

const ORDERS = {
  updated: { asc: 'p.updated_at, p.id', desc: 'p.updated_at DESC, p.id' },
  liked: { asc: 'p.is_liked, p.updated_at, p.id', desc: 'p.is_liked DESC, p.updated_at DESC, p.id' },
} as const;

function parse(row: Row): Prompt {
  return {
    tenantId: row['tenant_id'] ?? '',
    id: row['id'] ?? '',
    name: row['name'] ?? '',
    description: row['description'] ?? '',
    readme: row['readme'] ?? '',
    tags: row.tags,
    isArchived: row['is_archived'] === 't',
    isLiked: row['is_liked'] === 't',
    commits: Number(row['commits']),
    lastHash: row.last_hash ?? undefined,
    commitTags: row.commit_tags,
    createdAt: parseInstant(row['created_at'] ?? '', { zone: 'optional' }) ?? 0n,
    updatedAt: parseInstant(row['updated_at'] ?? '', { zone: 'optional' }) ?? 0n,
  };
}

/** Runs `work` while no other changes the number or the commits of the tenant's prompts, so that limits hold. */
export async function withPrompts<T>(
  pool: Pool,
  tenantId: string,
  work: (db: Connection) => Promise<T>,
): Promise<T> {
  return inTransaction(pool, async (db) => {
    await db.query('SELECT pg_advisory_xact_lock($1, hashtext($2))', [LOCK, tenantId]);
    return work(db);
  });
}

/** The table `prompts`. */
export class PromptTable implements Prompts {
  constructor(private readonly pool: Pool) {}

  async create(tenantId: string, name: string, details: PromptDetails): Promise<Prompt> {
    const { description, readme, tags, isArchived } = details;
    return withPrompts(this.pool, tenantId, async (db) => {
      if (await findPrompt(db, tenantId, name))
        throw new PublicError(
          'conflict',
          `creating the prompt ${name} failed: a prompt with this name exists; add a commit to it`,
        );
      const { rowCount } = await db.query(
        `INSERT INTO prompts (tenant_id, id, name, description, readme, tags, is_archived)
        SELECT $1::uuid, $2::uuid, $3, $4, $5, $6::text[], $7::boolean
        WHERE (SELECT count(*) FROM prompts WHERE tenant_id = $1) < $8`,
        [tenantId, randomUUID(), name, description, readme, tags, isArchived, PROMPT_LIMITS.prompts],
      );
      const made = rowCount === 1 ? await findPrompt(db, tenantId, name) : undefined;
      if (made) return made;
      throw new PublicError(
        'forbidden',
        `creating the prompt ${name} failed: the workspace has ${PROMPT_LIMITS.prompts}, the most that it may; delete some`,
      );
    });
  }

  find(tenantId: string, name: string): Promise<Prompt | undefined> {
    return findPrompt(this.pool, tenantId, name);
  }

  async list(tenantId: string, search: PromptSearch): ReturnType<Prompts['list']> {
    const { text, isPrefix = false, tags, isArchived, hasCommits } = search;
    const where = `p.tenant_id = $1
      AND ($2::text IS NULL OR CASE WHEN $3 THEN starts_with(lower(p.name), lower($2))
        ELSE strpos(lower(concat_ws(chr(10), p.name, p.description, p.readme)), lower($2)) > 0 END)
      AND ($4::text[] IS NULL OR p.tags @> $4) AND ($5::boolean IS NULL OR p.is_archived = $5)
      AND ($6::boolean IS NULL OR (p.commits > 0) = $6)`;
    const values = [tenantId, text, isPrefix, tags, isArchived, hasCommits];
    const { rows: counted } = await this.pool.query<{ total: string }>(
      `SELECT count(*) AS total FROM prompts p WHERE ${where}`,
      values,
    );
    const { rows } = await this.pool.query<Row>({
      text: `SELECT ${COLUMNS} FROM prompts p WHERE ${where}
        ORDER BY ${ORDERS[search.order][search.direction]} LIMIT $7 OFFSET $8`,
      values: [...values, search.limit, search.offset],
      types: textTypes,
    });
    return { prompts: rows.map(parse), total: Number(counted[0]?.total ?? 0) };
  }

  async update(
    tenantId: string,
    name: string,
    { description, readme, tags, isArchived }: Parameters<Prompts['update']>[2],
  ): Promise<Prompt | undefined> {
    await this.pool.query(
      `UPDATE prompts SET description = coalesce($3, description), readme = coalesce($4, readme),
        tags = coalesce($5, tags), is_archived = coalesce($6, is_archived), updated_at = clock_timestamp()
      WHERE tenant_id = $1 AND name = $2`,
      [tenantId, name, description, readme, tags, isArchived],
    );
    return this.find(tenantId, name);
  }

  async setLiked(tenantId: string, name: string, isLiked: boolean): Promise<Prompt | undefined> {
    await this.pool.query('UPDATE prompts SET is_liked = $3 WHERE tenant_id = $1 AND name = $2', [
      tenantId,
      name,
      isLiked,
    ]);
    return this.find(tenantId, name);
  }

  async delete(tenantId: string, name: string): Promise<boolean> {
    const { rowCount } = await this.pool.query('DELETE FROM prompts WHERE tenant_id = $1 AND name = $2', [
      tenantId,
      name,
    ]);
    return rowCount === 1;
  }
}

/** The prompt of this name. */
export async function findPrompt(db: Queryable, tenantId: string, name: string): Promise<Prompt | undefined> {
  const { rows } = await db.query<Row>({
    text: `SELECT ${COLUMNS} FROM prompts p WHERE p.tenant_id = $1 AND p.name = $2`,
    values: [tenantId, name],
    types: textTypes,
  });
  return rows[0] && parse(rows[0]);
}
