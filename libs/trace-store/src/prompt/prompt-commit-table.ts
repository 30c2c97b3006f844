import { createHash, randomUUID } from 'node:crypto';
import { PublicError } from '#lib/errors';
import { type Connection, type Pool, type Queryable, textTypes } from '#lib/postgres';
import { parseInstant } from '#lib/time';
import {
  type CommitTag,
  findPrompt,
  type NewCommit,
  type Prompt,
  PROMPT_LIMITS,
  type PromptCommit,
  withPrompts,
} from './prompt-table.js';

type Row = Readonly<Record<string, string | null>>;
type FullCommit = PromptCommit & { readonly manifest: string };

const FROM = `prompt_commits c LEFT JOIN prompt_commits o
  ON o.tenant_id = c.tenant_id AND o.prompt_id = c.prompt_id AND o.number = c.parent`;
const COLUMNS = `c.id, c.prompt_id, c.hash, o.id AS parent_id, o.hash AS parent_hash, c.description, c.created_at`;
const OF_PROMPT = 'c.tenant_id = $1 AND c.prompt_id = $2';

/** A shorter beginning of a hash is not searched for. */
const MIN_HASH = 7;

function parse(row: Row): PromptCommit {
  return {
    id: row['id'] ?? '',
    promptId: row['prompt_id'] ?? '',
    hash: row['hash'] ?? '',
    parentId: row['parent_id'] ?? undefined,
    parentHash: row['parent_hash'] ?? undefined,
    description: row['description'] ?? undefined,
    createdAt: parseInstant(row['created_at'] ?? '', { zone: 'optional' }) ?? 0n,
  };
}

function parseTag(row: Row): CommitTag {
  return {
    name: row['name'] ?? '',
    commitId: row['id'] ?? '',
    commitHash: row['hash'] ?? '',
    createdAt: parseInstant(row['created_at'] ?? '', { zone: 'optional' }) ?? 0n,
    updatedAt: parseInstant(row['updated_at'] ?? '', { zone: 'optional' }) ?? 0n,
  };
}

/**
 * Versions of prompts, of one tenant at a time. `undefined` answers: there is no such prompt.
 * The tables `prompt_commits` and `prompt_commit_tags`.
 */
export class PromptCommitTable {
  constructor(private readonly pool: Pool) {}

  /**
   * Adds a version.
   * @throws PublicError conflict when its parent has the same manifest already; not_found for its parent;
   * forbidden beyond a limit
   */
  async create(tenantId: string, name: string, commit: NewCommit): Promise<PromptCommit | undefined> {
    return withPrompts(this.pool, tenantId, async (db) => {
      const prompt = await findPrompt(db, tenantId, name);
      return prompt && addCommit(db, prompt, commit);
    });
  }

  /**
   * @param which `latest`, a tag, a hash, or how a hash begins
   * @returns undefined also when there is no such commit
   * @throws PublicError conflict when several hashes begin so
   */
  async find(tenantId: string, name: string, which: string): Promise<FullCommit | undefined> {
    const prompt = await findPrompt(this.pool, tenantId, name);
    return prompt && findCommit(this.pool, prompt, which, true);
  }

  /** Newest first. @param tag only the commit of this tag */
  async list(
    tenantId: string,
    name: string,
    {
      tag,
      limit,
      offset,
    }: { readonly tag?: string | undefined; readonly limit: number; readonly offset: number },
  ): Promise<{ readonly commits: readonly PromptCommit[]; readonly total: number } | undefined> {
    const prompt = await findPrompt(this.pool, tenantId, name);
    if (!prompt) return undefined;
    const tagged = `($3::text IS NULL OR c.number = (SELECT t.number FROM prompt_commit_tags t
      WHERE t.tenant_id = $1 AND t.prompt_id = $2 AND t.name = $3))`;
    const { rows } = await this.pool.query<Row>({
      text: `SELECT ${COLUMNS} FROM ${FROM} WHERE ${OF_PROMPT} AND ${tagged}
        ORDER BY c.number DESC LIMIT $4 OFFSET $5`,
      values: [tenantId, prompt.id, tag, limit, offset],
      types: textTypes,
    });
    const isTagged = tag !== undefined && prompt.commitTags.includes(tag);
    return { commits: rows.map(parse), total: tag === undefined ? prompt.commits : Number(isTagged) };
  }

  /**
   * Gives a commit a tag, or moves it there.
   * @throws PublicError not_found for the commit, forbidden beyond the limit
   */
  async tag(tenantId: string, name: string, tag: string, commitId: string): Promise<CommitTag | undefined> {
    return withPrompts(this.pool, tenantId, async (db) => {
      const prompt = await findPrompt(db, tenantId, name);
      if (!prompt) return undefined;
      if (!prompt.commitTags.includes(tag) && prompt.commitTags.length >= PROMPT_LIMITS.commitTags)
        throw new PublicError(
          'forbidden',
          `tagging a commit of ${name} as ${tag} failed: the prompt has ${PROMPT_LIMITS.commitTags} tags, the most that it may; delete some`,
        );
      const { rowCount } = await db.query(
        `INSERT INTO prompt_commit_tags (tenant_id, prompt_id, name, number)
        SELECT $1::uuid, $2::uuid, $3, c.number FROM prompt_commits c WHERE ${OF_PROMPT} AND c.id = $4
        ON CONFLICT (tenant_id, prompt_id, name) DO UPDATE SET number = excluded.number, updated_at = clock_timestamp()`,
        [tenantId, prompt.id, tag, commitId],
      );
      if (rowCount === 0)
        throw new PublicError('not_found', `Commit with ID ${commitId} not found in the prompt ${name}`);
      return (await tagsOf(db, prompt)).find((one) => one.name === tag);
    });
  }

  async tags(tenantId: string, name: string): Promise<readonly CommitTag[] | undefined> {
    const prompt = await findPrompt(this.pool, tenantId, name);
    return prompt && tagsOf(this.pool, prompt);
  }

  /** @returns false when there was none */
  async untag(tenantId: string, name: string, tag: string): Promise<boolean> {
    const { rowCount } = await this.pool.query(
      `DELETE FROM prompt_commit_tags WHERE tenant_id = $1 AND name = $3
        AND prompt_id = (SELECT id FROM prompts WHERE tenant_id = $1 AND name = $2)`,
      [tenantId, name, tag],
    );
    return rowCount === 1;
  }
}

export type PromptCommits = Pick<PromptCommitTable, keyof PromptCommitTable>;

async function tagsOf(db: Queryable, { tenantId, id }: Prompt): Promise<readonly CommitTag[]> {
  const { rows } = await db.query<Row>({
    text: `SELECT t.name, t.created_at, t.updated_at, c.id, c.hash FROM prompt_commit_tags t
      JOIN prompt_commits c ON c.tenant_id = t.tenant_id AND c.prompt_id = t.prompt_id AND c.number = t.number
      WHERE t.tenant_id = $1 AND t.prompt_id = $2 ORDER BY t.name`,
    values: [tenantId, id],
    types: textTypes,
  });
  return rows.map(parseTag);
}

async function addCommit(
  db: Connection,
  prompt: Prompt,
  { manifest, parent, description }: NewCommit,
): Promise<PromptCommit | undefined> {
  const { tenantId, id, name } = prompt;
  const before =
    parent === undefined && prompt.commits === 0
      ? undefined
      : await findCommit(db, prompt, parent ?? 'latest', false);
  if (parent !== undefined && !before)
    throw new PublicError(
      'not_found',
      `adding a commit to ${name} failed: it has no commit ${parent}; name one that exists, or no parent_commit`,
    );
  if (before?.manifest === manifest) throw nothingNew(name, before.hash);
  const hash = createHash('sha256')
    .update(`${before?.hash ?? ''}\n${manifest}`)
    .digest('hex');
  const equal = await findCommit(db, prompt, hash, false);
  if (equal) throw nothingNew(name, equal.hash);
  await refuseBeyond(db, prompt, Buffer.byteLength(manifest));
  await db.query(
    `INSERT INTO prompt_commits (tenant_id, prompt_id, number, id, hash, parent, manifest, description)
    VALUES ($1, $2, $3, $4, $5, (SELECT number FROM prompt_commits WHERE tenant_id = $1 AND id = $6), $7, $8)`,
    [tenantId, id, prompt.commits + 1, randomUUID(), hash, before?.id, manifest, description],
  );
  await db.query(
    `UPDATE prompts SET commits = commits + 1, stored_bytes = stored_bytes + $3, updated_at = clock_timestamp()
    WHERE tenant_id = $1 AND id = $2`,
    [tenantId, id, Buffer.byteLength(manifest)],
  );
  return findCommit(db, prompt, hash, false);
}

function nothingNew(name: string, hash: string): PublicError {
  return new PublicError(
    'conflict',
    `Nothing to commit: the prompt ${name} has not changed since its commit ${hash.slice(0, 8)}`,
  );
}

/** @throws PublicError forbidden */
async function refuseBeyond(
  db: Connection,
  { tenantId, name, commits }: Prompt,
  bytes: number,
): Promise<void> {
  const refused = (limit: string): PublicError =>
    new PublicError(
      'forbidden',
      `adding a commit to ${name} failed: ${limit}, the most that it may; delete some prompts`,
    );
  if (commits >= PROMPT_LIMITS.commits) throw refused(`the prompt has ${commits} commits`);
  const { rows } = await db.query<{ bytes: string }>(
    'SELECT coalesce(sum(stored_bytes), 0) AS bytes FROM prompts WHERE tenant_id = $1',
    [tenantId],
  );
  if (Number(rows[0]?.bytes) + bytes > PROMPT_LIMITS.bytes)
    throw refused(`the prompts of the workspace have ${PROMPT_LIMITS.bytes / 1_048_576} MiB`);
}

/** @param byTag true when it may be named by a tag */
async function findCommit(
  db: Queryable,
  prompt: Prompt,
  which: string,
  byTag: boolean,
): Promise<FullCommit | undefined> {
  const { rows } = await db.query<Row>({
    text: `SELECT ${COLUMNS}, c.manifest FROM ${FROM} WHERE ${OF_PROMPT} AND ${conditionOf(prompt, which, byTag)} LIMIT 2`,
    values: [prompt.tenantId, prompt.id, which],
    types: textTypes,
  });
  const [row] = rows;
  if (rows.length > 1)
    throw new PublicError(
      'conflict',
      `several commits of ${prompt.name} begin with ${which}: name more of the hash`,
    );
  return row && { ...parse(row), manifest: row['manifest'] ?? '' };
}

function conditionOf({ commitTags, commits }: Prompt, which: string, byTag: boolean): string {
  if (byTag && commitTags.includes(which))
    return `c.number = (SELECT t.number FROM prompt_commit_tags t
      WHERE t.tenant_id = $1 AND t.prompt_id = $2 AND t.name = $3)`;
  if (which === 'latest') return `c.number = ${commits} AND $3 <> ''`;
  // hashes are of hexadecimal digits alone, so a text with others finds nothing
  return which.length < MIN_HASH ? "$3 = ''" : 'starts_with(c.hash, lower($3))';
}
