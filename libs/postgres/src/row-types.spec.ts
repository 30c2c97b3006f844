import { createLogger } from '#lib/telemetry';
import { testPostgres } from '#lib/testing';
import { openPool } from './open-pool.js';
import { boundedDocuments } from './row-types.js';

const postgres = testPostgres();

describe('boundedDocuments', () => {
  it('parses documents up to a length, and refuses longer ones that are not selected as text', async () => {
    const { uri } = await postgres.freshDatabase();
    const log = createLogger('test', 'silent');
    const pool = openPool({ uri, applicationName: 'test', log, types: boundedDocuments(20) });
    const { rows } = await pool.query(
      `SELECT '{"a":[1]}'::json AS a, '{"b":1}'::jsonb AS b, now() AS at, NULL::json AS none`,
    );
    expect(rows).toEqual([{ a: { a: [1] }, b: { b: 1 }, at: expect.any(Date), none: null }]);
    const long = `json_build_object('a', repeat('x', 20))`;
    for (const type of ['json', 'jsonb'])
      await expect(pool.query(`SELECT ${long}::${type} AS a`)).rejects.toThrow(
        'and 20 is the most: select it as text',
      );
    expect((await pool.query(`SELECT ${long}::text AS a`)).rows).toEqual([
      { a: `{"a" : "${'x'.repeat(20)}"}` },
    ]);
    await pool.end();
  });
});

describe('an array of bytea', () => {
  it('keeps its arrays and nulls, however the server prints bytes', async () => {
    const { uri } = await postgres.freshDatabase();
    const log = createLogger('test', 'silent');
    const written = [Buffer.from([0, 34, 92, 255]), Buffer.from(String.raw`\x41`), Buffer.alloc(0), null];
    for (const bytea_output of ['hex', 'escape']) {
      const pool = openPool({ uri, applicationName: 'test', log, settings: { bytea_output } });
      const { rows } = await pool.query(
        `SELECT $1::bytea[] AS flat, ARRAY[$1::bytea[], $1::bytea[]] AS nested, '{}'::bytea[] AS empty`,
        [written],
      );
      expect(rows).toEqual([{ flat: written, nested: [written, written], empty: [] }]);
      await pool.end();
    }
  });
});
