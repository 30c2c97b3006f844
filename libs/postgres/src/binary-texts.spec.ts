import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createLogger } from '#lib/telemetry';
import { testPostgres } from '#lib/testing';
import { binaryTexts } from './binary-texts.js';
import { openPool, type Pool } from './open-pool.js';

const postgres = testPostgres();

describe('binaryTexts', () => {
  let pool: Pool;

  beforeAll(async () => {
    const { uri } = await postgres.freshDatabase();
    pool = openPool({ uri, applicationName: 'test', maxConnections: 1, log: createLogger('test', 'error') });
  });
  afterAll(() => pool.end());

  it.each([
    ['quoted, escaped and empty ones', ['{"a":"\\"b\\\\"}', '', 'NULL', 'é😀', ' a, b ']],
    ['some that are null', [undefined, 'x', undefined]],
    ['only nulls', [undefined]],
    ['a long one', ['y'.repeat(300_000)]],
  ])('hands Postgres the texts as they are: %s', async (_which, texts) => {
    const sent = binaryTexts(texts.map((text) => (text === undefined ? undefined : Buffer.from(text))));
    const { rows } = await pool.query<{ text: string | null }>('SELECT unnest($1::text[]) AS text', [sent]);
    expect(rows.map(({ text }) => text ?? undefined)).toEqual(texts);
  });

  it('lets Postgres refuse what is no text', async () => {
    for (const bytes of [Buffer.from([0xff]), Buffer.from('\0')])
      await expect(pool.query('SELECT $1::text[]', [binaryTexts([bytes])])).rejects.toMatchObject({
        code: '22021',
      });
  });
});
