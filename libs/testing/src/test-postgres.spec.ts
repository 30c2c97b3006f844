import pg from 'pg';
import { testPostgres } from './test-postgres.js';

describe('testPostgres', () => {
  const postgres = testPostgres();

  async function query(uri: string, text: string): Promise<Record<string, unknown>[]> {
    const client = new pg.Client({ connectionString: uri });
    await client.connect();
    try {
      return (await client.query(text)).rows as Record<string, unknown>[];
    } finally {
      await client.end();
    }
  }

  it('gives every caller a database of its own', async () => {
    const [one, two] = await Promise.all([postgres.freshDatabase(), postgres.freshDatabase()]);
    await query(one.uri, 'CREATE TABLE only_here (id int)');
    expect(await query(two.uri, `SELECT to_regclass('only_here') AS found`)).toEqual([{ found: null }]);
    await one.drop();
    await expect(query(one.uri, 'SELECT 1')).rejects.toThrow(/does not exist/);
  });

  it('prepares a template once and copies it', async () => {
    let runs = 0;
    const prepare = async (uri: string): Promise<void> => {
      runs++;
      await query(uri, `CREATE TABLE greetings AS SELECT 'hello' AS word`);
    };
    const [one, two] = await Promise.all([postgres.freshDatabase(prepare), postgres.freshDatabase(prepare)]);
    await query(one.uri, `UPDATE greetings SET word = 'bye'`);
    expect(await query(two.uri, 'SELECT word FROM greetings')).toEqual([{ word: 'hello' }]);
    expect(runs).toBe(1);
  });
});
