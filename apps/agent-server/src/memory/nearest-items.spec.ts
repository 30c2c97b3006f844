import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { createLogger } from '#lib/telemetry';
import { systemClock } from '#lib/time';
import { Database } from '../store/database.js';
import { putItem } from '../store/statement/items.js';
import { type Scope, sqlFilter } from '../store/scope.js';
import type { Sql } from '../store/sql.js';
import { WORKER } from '../store/worker-scope.js';
import { NearestItems } from './item-store.js';

/** A superuser's URI of a Postgres that has the files of pgvector, which the embedded one has not. */
const URI = process.env['AGENTPLANE_TEST_PGVECTOR_URI'];
const DIMS = 24;

if (URI === undefined)
  process.stdout.write(
    'pgvector is not tested: set AGENTPLANE_TEST_PGVECTOR_URI to a Postgres that has it\n',
  );

/** The same numbers in every run. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648 - 0.5;
  };
}

(URI === undefined ? describe.skip : describe)('the nearest items by pgvector', () => {
  const random = numbers(7);
  const name = `nearest_${randomUUID().replaceAll('-', '')}`;
  let admin: pg.Client;
  let database: Database;
  let nearest: NearestItems;
  /** Searches that the database itself compared for. */
  let comparisons = 0;

  const vector = () => {
    const made = Array.from({ length: DIMS }, random);
    const length = Math.hypot(...made);
    return Float32Array.from(made, (number) => number / length);
  };
  const put = (owner: string, key: string, vectors: readonly Float32Array[]) =>
    putItem(WORKER, database.sql, {
      namespace: ['docs', owner],
      key,
      value: { owner, n: Number(key) % 3 },
      ttlMinutes: undefined,
      vectors: vectors.map((one, at) => ({ field: `f${at}`, vector: one })),
    });
  const ask = (text: string) => database.sql.asWorker(WORKER, { text });
  const find = async (scope: Scope, prefix: readonly string[], filter: unknown, query: Float32Array) =>
    (await nearest.find(scope, { prefix, filter }, { query, limit: 7 })).map(({ itemId, score }) => [
      itemId,
      Number(score.toFixed(5)),
    ]);

  beforeAll(async () => {
    admin = new pg.Client({ connectionString: URI });
    await admin.connect();
    await admin.query(`CREATE DATABASE ${name}`);
    const uri = new URL(URI ?? '');
    uri.pathname = `/${name}`;
    const log = createLogger('test', 'silent');
    database = new Database({ uri: uri.href, poolSize: 4, clock: systemClock, log });
    await database.migrate();
    const { sql } = database;
    const recording: Pick<Sql, 'inScope' | 'asWorker'> = {
      inScope(scope, statement) {
        if (statement.text.includes('<#>')) comparisons++;
        return sql.inScope(scope, statement);
      },
      asWorker: (scope, statement) => sql.asWorker(scope, statement),
    };
    nearest = new NearestItems(recording as Sql);
    const same = vector();
    for (let at = 0; at < 120; at++)
      await put(at % 2 ? 'alice' : 'bob', String(at), at % 5 ? [vector(), vector()] : [same]);
    await put('alice', '900', [new Float32Array(DIMS)]);
    await putItem(WORKER, database.sql, {
      namespace: ['docs', 'alice'],
      key: 'short',
      value: {},
      ttlMinutes: undefined,
      vectors: [{ field: 'f0', vector: new Float32Array([1, 0]) }],
    });
  });
  afterAll(async () => {
    await database.close();
    await admin.query(`DROP DATABASE ${name} WITH (FORCE)`);
    await admin.end();
  });

  it('ranks as the exact scan does, with scopes, filters and ties, when the extension comes and goes', async () => {
    const alice: Scope = { kind: 'caller', filter: sqlFilter({ owner: 'alice' }) };
    const queries = [vector(), vector(), vector()];
    const all = () =>
      Promise.all(
        queries.flatMap((query) => [
          find(WORKER, ['docs'], undefined, query),
          find(alice, [], undefined, query),
          find(WORKER, ['docs', 'bob'], { n: { $gte: 1 } }, query),
          find(alice, ['docs', 'bob'], undefined, query),
        ]),
      );
    const extensions = async () =>
      (await ask(`SELECT FROM pg_extension WHERE extname = 'vector'`)).rows.length;
    const compared = await all();
    expect([await extensions(), comparisons]).toEqual([1, 12]); // made by the first search
    expect(compared.map((found) => found.length)).toEqual([7, 7, 7, 0, 7, 7, 7, 0, 7, 7, 7, 0]);
    await ask('DROP EXTENSION vector');
    expect(await all()).toEqual(compared);
    expect(comparisons).toBe(12);
    await ask('CREATE EXTENSION vector');
    expect(await all()).toEqual(compared);
    expect(comparisons).toBe(24);
    await ask('DROP EXTENSION vector');
    expect(await all()).toEqual(compared);
    expect(await extensions()).toBe(0); // an operator removed it on purpose
  });
});
