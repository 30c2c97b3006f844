import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { openPool, type Pool } from '#lib/postgres';
import { createLogger } from '#lib/telemetry';
import { testPostgres } from '#lib/testing';
import { prepareStore } from '../../testdata/test-trace-store.js';
import { PROMPT_LIMITS, PromptTable } from './prompt-table.js';
import { PromptCommitTable } from './prompt-commit-table.js';

const DETAILS = { description: '', readme: '', tags: [], isArchived: false };

describe('limits of prompts', () => {
  const postgres = testPostgres();
  let pool: Pool;
  let prompts: PromptTable;
  let commits: PromptCommitTable;

  beforeAll(async () => {
    const { uri } = await postgres.freshDatabase(prepareStore);
    pool = openPool({
      uri,
      applicationName: 'test',
      log: createLogger('test', 'error'),
      maxConnections: 2,
    });
    prompts = new PromptTable(pool);
    commits = new PromptCommitTable(pool);
  });
  afterAll(() => pool.end());

  async function tenantWith(name: string, set = 'commits = commits'): Promise<string> {
    const tenant = randomUUID();
    await prompts.create(tenant, name, DETAILS);
    await pool.query(`UPDATE prompts SET ${set} WHERE tenant_id = $1`, [tenant]);
    return tenant;
  }

  it('refuses one prompt too many of a workspace, and not of another', async () => {
    const tenant = await tenantWith('first');
    await pool.query(
      `INSERT INTO prompts (tenant_id, id, name, description, readme, tags)
      SELECT $1, gen_random_uuid(), 'p' || n, '', '', '{}' FROM generate_series(2, $2) n`,
      [tenant, PROMPT_LIMITS.prompts],
    );
    await expect(prompts.create(tenant, 'last', DETAILS)).rejects.toThrow('has 1000, the most that it may');
    await expect(prompts.create(randomUUID(), 'last', DETAILS)).resolves.toMatchObject({ name: 'last' });
  });

  it('refuses commits beyond their number, and beyond the bytes of the workspace', async () => {
    const many = await tenantWith('p', `commits = ${PROMPT_LIMITS.commits}`);
    await expect(commits.create(many, 'p', { manifest: '{}' })).rejects.toThrow(
      'the prompt has 10000 commits',
    );
    const large = await tenantWith('p', `stored_bytes = ${PROMPT_LIMITS.bytes - 1}`);
    await expect(commits.create(large, 'p', { manifest: '{}' })).rejects.toThrow('256 MiB');
  });

  it('refuses one tag too many, and moves an existing one', async () => {
    const tenant = await tenantWith('p');
    const made = await commits.create(tenant, 'p', { manifest: '{}' });
    for (let n = 0; n < PROMPT_LIMITS.commitTags; n++)
      await commits.tag(tenant, 'p', `t${n}`, made?.id ?? '');
    await expect(commits.tag(tenant, 'p', 'more', made?.id ?? '')).rejects.toThrow('100 tags');
    expect(await commits.tag(tenant, 'p', 't5', made?.id ?? '')).toMatchObject({ name: 't5' });
  });

  it('adds concurrent commits one after another, and finds none after the deletion', async () => {
    const tenant = await tenantWith('p');
    const manifests = ['{"a":1}', '{"a":2}', '{"a":3}'];
    await Promise.all(manifests.map((manifest) => commits.create(tenant, 'p', { manifest })));
    const listed = await commits.list(tenant, 'p', { limit: 10, offset: 0 });
    expect(listed).toMatchObject({ total: 3 });
    expect(listed?.commits.map(({ parentHash }) => parentHash)).toEqual([
      listed?.commits[1]?.hash,
      listed?.commits[2]?.hash,
      undefined,
    ]);
    expect(await prompts.delete(tenant, 'p')).toBe(true);
    const { rows } = await pool.query('SELECT FROM prompt_commits WHERE tenant_id = $1', [tenant]);
    expect(rows).toEqual([]);
  });

  it('refuses the beginning of several hashes', async () => {
    const tenant = await tenantWith('p');
    for (const manifest of ['{"a":1}', '{"a":2}']) await commits.create(tenant, 'p', { manifest });
    await pool.query(`UPDATE prompt_commits SET hash = 'aaaaaaaa' || number WHERE tenant_id = $1`, [tenant]);
    await expect(commits.find(tenant, 'p', 'aaaaaaa')).rejects.toThrow(
      'several commits of p begin with aaaaaaa',
    );
    expect(await commits.find(tenant, 'p', 'aaaaaaaa1')).toMatchObject({ manifest: '{"a":1}' });
  });
});
