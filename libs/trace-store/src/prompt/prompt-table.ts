import { randomUUID } from 'node:crypto';
import { PublicError } from '#lib/errors';
import { type Connection, inTransaction, type Pool, type Queryable, textTypes } from '#lib/postgres';
import { type Instant, parseInstant } from '#lib/time';

/** Limits of prompts. */
export const PROMPT_LIMITS = {
  /** Prompts of a workspace. */
  prompts: 1_000,
  /** Commits of a prompt. */
  commits: 10_000,
  /** Tags of the commits of a prompt. */
  commitTags: 100,
  /** Bytes of the JSON text of a manifest. */
  manifestBytes: 524_288,
  /** Bytes of all manifests of a workspace. */
  bytes: 268_435_456,
} as const;

/** Members of a prompt that its owner chooses. */
interface PromptDetails {
  readonly description: string;
  readonly readme: string;
  readonly tags: readonly string[];
  readonly isArchived: boolean;
}

/** A named prompt; its text is in its commits. */
export interface Prompt extends PromptDetails {
  readonly tenantId: string;
  readonly id: string;
  readonly name: string;
  readonly isLiked: boolean;
  readonly commits: number;
  /** Hash of the newest commit. */
  readonly lastHash: string | undefined;
  /** Names of the tags of its commits. */
  readonly commitTags: readonly string[];
  readonly createdAt: Instant;
  /** When its details changed or a commit was added. */
  readonly updatedAt: Instant;
}

interface PromptSearch {
  /** Part of the name, the description or the readme, in any case. */
  readonly text?: string | undefined;
  /** True when the name must begin with the text. */
  readonly isPrefix?: boolean | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly isArchived?: boolean | undefined;
  readonly hasCommits?: boolean | undefined;
  readonly order: 'updated' | 'liked';
  readonly direction: 'asc' | 'desc';
  readonly limit: number;
  readonly offset: number;
}

/** A version of a prompt without its manifest. */
export interface PromptCommit {
  readonly id: string;
  readonly promptId: string;
  readonly hash: string;
  readonly parentId: string | undefined;
  readonly parentHash: string | undefined;
  readonly description: string | undefined;
  readonly createdAt: Instant;
}

export interface NewCommit {
  /** JSON text of an object. */
  readonly manifest: string;
  /** Hash of the commit that it follows, or how it begins; the newest one when undefined. */
  readonly parent?: string | undefined;
  readonly description?: string | undefined;
}

/** A name of one commit, which may move to another. */
export interface CommitTag {
  readonly name: string;
  readonly commitId: string;
  readonly commitHash: string;
  readonly createdAt: Instant;
  readonly updatedAt: Instant;
}

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

/**
 * Prompts, of one tenant at a time; each is found by its name. `undefined` answers: there is no such prompt.
 * The table `prompts`.
 */
export class PromptTable {
  constructor(private readonly pool: Pool) {}

  /** @throws PublicError conflict when the name is taken, forbidden beyond the limit */
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

  async list(
    tenantId: string,
    search: PromptSearch,
  ): Promise<{ readonly prompts: readonly Prompt[]; readonly total: number }> {
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

  /** Undefined members stay as they are. */
  async update(
    tenantId: string,
    name: string,
    {
      description,
      readme,
      tags,
      isArchived,
    }: { readonly [K in keyof PromptDetails]?: PromptDetails[K] | undefined },
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

  /** Deletes it with its commits and tags. @returns false when there was none */
  async delete(tenantId: string, name: string): Promise<boolean> {
    const { rowCount } = await this.pool.query('DELETE FROM prompts WHERE tenant_id = $1 AND name = $2', [
      tenantId,
      name,
    ]);
    return rowCount === 1;
  }
}

export type Prompts = Pick<PromptTable, keyof PromptTable>;

/** The prompt of this name. */
export async function findPrompt(db: Queryable, tenantId: string, name: string): Promise<Prompt | undefined> {
  const { rows } = await db.query<Row>({
    text: `SELECT ${COLUMNS} FROM prompts p WHERE p.tenant_id = $1 AND p.name = $2`,
    values: [tenantId, name],
    types: textTypes,
  });
  return rows[0] && parse(rows[0]);
}
