// The store of an agent: puts, reads and searches by REST, durable Postgres; searches by meaning read every vector.
import { startOwnServer, startPostgres } from './agent-server/own.mjs';
import { readArguments } from './read-arguments.mjs';

const { VECTORS: vectors } = readArguments(
  `npm run bench -- store [VECTORS]

The store of an agent: puts, reads and searches by REST on durable Postgres, and searches by meaning among VECTORS (10,000),
which read every one.`,
  { counts: { VECTORS: 10_000 } },
).counts;
const OPERATIONS = 2_000;
const SEARCHES = 10;

const postgres = await startPostgres(10);
const server = await startOwnServer({ uri: postgres.uri, agent: 'memory' });
const { port } = server;

async function call(method, path, body) {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    ...(body === undefined
      ? {}
      : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return text;
}

async function measure(title, count, callers, operation) {
  const tookMs = [];
  let next = 0;
  const started = performance.now();
  await Promise.all(
    Array.from({ length: callers }, async () => {
      while (next < count) {
        const began = performance.now();
        await operation(next++);
        tookMs.push(performance.now() - began);
      }
    }),
  );
  const perSecond = (count / (performance.now() - started)) * 1_000;
  tookMs.sort((one, other) => one - other);
  const at = (part) => tookMs[Math.floor((tookMs.length - 1) * part)].toFixed(1);
  process.stdout.write(
    `| ${title} | ${callers} | ${at(0.5)} ms | ${at(0.95)} ms | ${perSecond.toFixed(perSecond < 10 ? 1 : 0)} |\n`,
  );
}

const plain = (key) => ({
  namespace: ['plain', String(key % 100)],
  key: String(key),
  value: { n: key, kind: 'note' },
});
const embedded = (key) => ({
  namespace: ['texts', String(key % 10)],
  key: String(key),
  value: { text: `text ${key}` },
});
try {
  process.stdout.write('| | callers | p50 | p95 | per second |\n|---|---|---|---|---|\n');
  for (const callers of [1, 32])
    await measure('put', OPERATIONS, callers, (key) => call('PUT', '/store/items', plain(key)));
  for (const callers of [1, 32])
    await measure('get', OPERATIONS, callers, (key) =>
      call('GET', `/store/items?namespace=plain.${key % 100}&key=${key}`),
    );
  await measure('search with a filter, 2,000 items', 200, 1, () =>
    call('POST', '/store/items/search', { namespace_prefix: ['plain'], filter: { n: { $gt: 1_000 } } }),
  );
  await measure('put with a vector of 1,536', vectors, 32, (key) =>
    call('PUT', '/store/items', embedded(key)),
  );
  const query = { query: 'anything' };
  for (const callers of [1, 4])
    await measure(`search by meaning, ${vectors} vectors`, SEARCHES, callers, () =>
      call('POST', '/store/items/search', { namespace_prefix: ['texts'], ...query }),
    );
  await measure(`the same, a tenth of them by namespace`, SEARCHES, 1, () =>
    call('POST', '/store/items/search', { namespace_prefix: ['texts', '1'], ...query }),
  );
} finally {
  await server.stop();
  await postgres.stop();
}
process.exit(0);
