import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createLogger } from '#lib/telemetry';
import { testPostgres } from '#lib/testing';
import { CopyBinaryWriter } from './copy/copy-binary-writer.js';
import { copyIn } from './copy/copy-in.js';
import { inTransaction, sendWithNext } from './in-limited-transaction.js';
import { type Connection, openPool, type Pool } from './open-pool.js';
import { byteRows, textTypes } from './row-types.js';

const postgres = testPostgres();

describe('a transaction', () => {
  let pool: Pool;

  beforeAll(async () => {
    const { uri } = await postgres.freshDatabase();
    // one connection: state that a transaction leaves behind affects the next one
    pool = openPool({ uri, applicationName: 'test', maxConnections: 1, log: createLogger('test', 'error') });
    await pool.query('CREATE TABLE notes (text text)');
  });
  beforeEach(async () => {
    await pool.query('TRUNCATE notes');
  });
  afterAll(() => pool.end());

  const notes = async (): Promise<string[]> =>
    (await pool.query<{ text: string }>('SELECT text FROM notes ORDER BY text')).rows.map(({ text }) => text);
  const isOpen = async (): Promise<boolean> => {
    const { rows } = await pool.query<{ open: boolean }>(
      'SELECT now() <> statement_timestamp() AS open FROM (SELECT pg_sleep(0.01)) s',
    );
    return rows[0]?.open === true;
  };

  it('performs the statements that open it before the first one, once', async () => {
    const begin = [
      'BEGIN',
      "INSERT INTO notes VALUES ('opened') RETURNING text",
      "SET LOCAL work_mem = '1MB'",
    ];
    const found = await inTransaction(
      pool,
      async (db) => {
        const first = await db.query("SELECT text, current_setting('work_mem') AS memory FROM notes");
        await db.query('INSERT INTO notes VALUES ($1)', ['worked']);
        return [first.rows, first.command, first.rowCount];
      },
      begin,
    );
    expect(found).toEqual([[{ text: 'opened', memory: '1MB' }], 'SELECT', 1]);
    expect(await notes()).toEqual(['opened', 'worked']);
    expect(await isOpen()).toBe(false);
  });

  it.each([
    ['with values', { text: 'SELECT $1::int4 AS n, NULL AS none', values: [7] }, [{ n: 7, none: null }]],
    ['without any', { text: 'SELECT 7 AS n' }, [{ n: 7 }]],
    ['by name', { name: 'seven', text: 'SELECT 7 AS n' }, [{ n: 7 }]],
    ['as lists', { text: 'SELECT 7, 8', rowMode: 'array', types: textTypes }, [['7', '8']]],
    [
      'as bytes',
      { text: "SELECT 'é'::text AS b, 200 AS n, NULL AS none", ...byteRows },
      [{ b: Buffer.from('é'), n: Buffer.from('200'), none: null }],
    ],
    ['of no rows', { text: 'SELECT 1 WHERE false' }, []],
  ])('answers its first statement as any other, %s', async (_how, statement, rows) => {
    for (let time = 0; time < 2; time++)
      expect((await inTransaction(pool, (db) => db.query(statement))).rows).toEqual(rows);
  });

  it('rolls back what fails, at its first statement or a later one', async () => {
    const failing = [
      () => inTransaction(pool, (db) => db.query('SELECT 1 / $1::int', [0])),
      () => inTransaction(pool, (db) => db.query('SELECT nothing')),
      () => inTransaction(pool, (db) => db.query('SELECT 1'), ['BEGIN', 'SELECT 1 / 0']),
      () =>
        inTransaction(pool, async (db) => {
          await db.query("INSERT INTO notes VALUES ('lost')");
          await db.query('SELECT 1 / 0');
        }),
    ];
    for (const one of failing) {
      await expect(one()).rejects.toMatchObject({ code: expect.stringMatching(/^(22012|42703)$/) });
      expect([await notes(), await isOpen()]).toEqual([[], false]);
    }
  });

  it('opens nothing where nothing is asked', async () => {
    const begin = ['BEGIN', "INSERT INTO notes VALUES ('opened')"];
    expect(await inTransaction(pool, () => Promise.resolve(1), begin)).toBe(1);
    await expect(inTransaction(pool, () => Promise.reject(new Error('no')), begin)).rejects.toThrow('no');
    expect([await notes(), await isOpen()]).toEqual([[], false]);
  });

  it('begins with several statements of one text', async () => {
    const found = await inTransaction(pool, async (db) => {
      await db.query("SET LOCAL work_mem = '1MB'; INSERT INTO notes VALUES ('a;b')");
      return (await db.query("SELECT text, current_setting('work_mem') AS memory FROM notes")).rows;
    });
    expect(found).toEqual([{ text: 'a;b', memory: '1MB' }]);
    expect([await notes(), await isOpen()]).toEqual([['a;b'], false]);
  });

  it('reports what failed to open it before several statements', async () => {
    const work = (db: Connection): Promise<unknown> => db.query('SELECT 1; SELECT 2');
    await expect(inTransaction(pool, work, ['BEGIN', 'SELECT 1 / 0'])).rejects.toMatchObject({
      code: '22012',
    });
    expect(await isOpen()).toBe(false);
  });

  it('prepares a named statement that was left out when it is asked for again', async () => {
    const seven = { name: 'left out', text: 'SELECT 7 AS n' };
    await expect(
      inTransaction(pool, (db) => db.query(seven), ['BEGIN', 'SELECT 1 / 0']),
    ).rejects.toMatchObject({ code: '22012' });
    for (let time = 0; time < 2; time++)
      expect((await inTransaction(pool, (db) => db.query(seven))).rows).toEqual([{ n: 7 }]);
  });

  it('begins with rows that are copied in', async () => {
    const rows = new CopyBinaryWriter();
    rows.row(1).text('copied');
    await inTransaction(pool, (db) => copyIn(db, [{ table: 'notes', columns: ['text'], rows }]));
    expect([await notes(), await isOpen()]).toEqual([['copied'], false]);
  });

  it('ends also where a setting was made and nothing asked after it', async () => {
    await inTransaction(pool, async (db) => {
      await db.query("INSERT INTO notes VALUES ('kept')");
      await sendWithNext(db, ["SET LOCAL work_mem = '1MB'"]);
    });
    expect([await notes(), await isOpen()]).toEqual([['kept'], false]);
  });

  it('makes settings for its first statement also where more are made before it', async () => {
    const { rows } = await inTransaction(pool, async (db) => {
      await sendWithNext(db, ["SET LOCAL work_mem = '1MB'"]);
      return db.query("SELECT current_setting('work_mem') AS memory");
    });
    expect(rows).toEqual([{ memory: '1MB' }]);
    expect((await pool.query('SHOW work_mem')).rows).not.toEqual([{ work_mem: '1MB' }]);
  });
});
