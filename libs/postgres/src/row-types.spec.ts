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
