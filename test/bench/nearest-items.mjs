// Searches by meaning, by the exact scan and by pgvector, of one database with and without the extension.
import pg from 'pg';
import { createLogger } from '#lib/telemetry';
import { systemClock } from '#lib/time';
import { NearestItems } from '../../dist/apps/agent-server/src/memory/item-store.js';
import { Database } from '../../dist/apps/agent-server/src/store/database.js';
import { WORKER } from '../../dist/apps/agent-server/src/store/worker-scope.js';
import { countOf, readArguments, refuse } from './read-arguments.mjs';

const HELP = `node bin/node24.js test/bench/nearest-items.mjs URI [VECTORS…]

Searches by meaning among VECTORS, by the exact scan and by pgvector, of one database with and without the extension. URI is
that of a superuser of a Postgres that has pgvector.`;
const [uri, ...counts] = readArguments(HELP, {
  more: (word, at) => (at === 0 ? word : countOf('VECTORS', word)),
}).more;
if (uri === undefined) refuse('URI is missing', HELP);
const DIMS = 1_536;
const NAME = 'agentplane_bench_nearest';

const FILL = `WITH made AS (
    INSERT INTO agentplane.store_items (namespace, key, value)
    SELECT ARRAY['texts', (n % 10)::text], n::text, '{}' FROM generate_series($1::int, $2::int) n RETURNING item_id)
  INSERT INTO agentplane.store_vectors (item_id, field, dims, vector)
  SELECT m.item_id, 'text', ${DIMS}, (
    SELECT array_agg((random() - 0.5) / sqrt(${DIMS} / 12.0))::real[] FROM generate_series(1, ${DIMS}) WHERE m.item_id > 0)
  FROM made m`;

const admin = new pg.Client({ connectionString: uri });
await admin.connect();
await admin.query(`DROP DATABASE IF EXISTS ${NAME} WITH (FORCE)`);
await admin.query(`CREATE DATABASE ${NAME}`);
const own = new URL(uri);
own.pathname = `/${NAME}`;
const log = createLogger('bench', 'error');
const database = new Database({ uri: own.href, poolSize: 4, clock: systemClock, log });
const { sql } = database;
const perform = (text, values) => sql.asWorker(WORKER, { text, values });

async function measure(title, nearest, prefix, times) {
  const query = Float32Array.from({ length: DIMS }, () => (Math.random() - 0.5) / Math.sqrt(DIMS / 12));
  const tookMs = [];
  let found;
  for (let at = 0; at <= times; at++) {
    const began = performance.now();
    found = await nearest.find(WORKER, { prefix, filter: undefined }, { query, limit: 10 });
    if (at > 0) tookMs.push(performance.now() - began); // the first one warms up
  }
  tookMs.sort((one, other) => one - other);
  const p50 = tookMs[Math.floor((times - 1) / 2)];
  process.stdout.write(`| ${title} | ${p50.toFixed(0)} ms | ${tookMs.at(-1).toFixed(0)} ms |\n`);
  return found;
}

try {
  await database.migrate();
  process.stdout.write('| | p50 | longest |\n|---|---|---|\n');
  let filled = 0;
  for (const count of counts.length > 0 ? counts : [10_000, 100_000]) {
    for (; filled < count; filled += 1_000) await perform(FILL, [filled + 1, filled + 1_000]);
    await perform('ANALYZE');
    const nearest = new NearestItems(sql);
    for (const way of ['pgvector', 'exact scan']) {
      await perform(way === 'pgvector' ? 'CREATE EXTENSION IF NOT EXISTS vector' : 'DROP EXTENSION vector');
      const times = way === 'pgvector' ? 5 : 3;
      await measure(`${way}, ${count} vectors`, nearest, ['texts'], times);
      await measure(`${way}, a tenth of ${count} by namespace`, nearest, ['texts', '1'], times);
    }
  }
} finally {
  await database.close();
  await admin.query(`DROP DATABASE ${NAME} WITH (FORCE)`);
  await admin.end();
}
process.exit(0);
