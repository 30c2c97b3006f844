import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createClient } from '@redis/client';
import { openPool } from '#lib/postgres';
import { createLogger } from '#lib/telemetry';
import { temporaryFolder, testPostgres, waitFor } from '#lib/testing';
import { hasRedis, RedisServer } from '../testdata/redis-server.js';
import { ServerProcess } from '../testdata/start-server.js';

const PASSWORD = 'not-to-be-shown/1';

interface Heard {
  readonly id: string | undefined;
  readonly event: string;
  readonly data: Record<string, unknown>;
}

/** Two servers of a deployment, with one way between them. */
interface Pair {
  readonly uri: string;
  readonly first: ServerProcess;
  readonly second: ServerProcess;
  stop(): Promise<unknown>;
}

const postgres = testPostgres();
const folder = temporaryFolder();

async function startPair(env: Readonly<Record<string, string>>): Promise<Pair> {
  const { uri } = await postgres.freshDatabase();
  const [first, second] = await Promise.all([
    ServerProcess.start({ uri, env }),
    ServerProcess.start({ uri, env }),
  ]);
  return { uri, first, second, stop: () => Promise.all([first.stop(), second.stop()]) };
}

const loggedBy = ({ log }: ServerProcess): string[] => log.map(({ msg }) => msg);

async function isConnected(...servers: ServerProcess[]): Promise<void> {
  await waitFor(() => servers.every((server) => loggedBy(server).includes('connected to Redis')));
}

/** Reads all of a run of the first server at the second one. */
async function readElsewhere({ first, second }: Pair, count: number, waitMs: number) {
  const { thread_id: threadId } = await first.client().threads.create();
  const { run_id: runId } = await first.client().runs.create(threadId, 'ticking', {
    input: { count, waitMs },
    streamMode: ['custom'],
    streamResumable: true,
  });
  const heard: Heard[] = [];
  const read = async (): Promise<void> => {
    for await (const part of second.client().runs.joinStream(threadId, runId, { lastEventId: '-1' }))
      heard.push(part as Heard);
  };
  return { runId, heard, done: read() };
}

function ticksOf(heard: readonly Heard[]): unknown[] {
  return heard.filter(({ event }) => event === 'custom').map(({ data }) => data['tick']);
}

function upTo(count: number): number[] {
  return Array.from({ length: count }, (_none, tick) => tick);
}

async function noteOf({ url }: ServerProcess): Promise<unknown> {
  const answer = await fetch(`${url}/ok`);
  expect(answer.status).toBe(200);
  return ((await answer.json()) as { note?: unknown }).note;
}

async function keptEvents(uri: string, runId: string): Promise<number> {
  const pool = openPool({
    uri,
    applicationName: 'test',
    maxConnections: 1,
    log: createLogger('test', 'silent'),
  });
  const { rows } = await pool.query('SELECT 1 FROM agentplane.run_events WHERE run_id = $1', [runId]);
  await pool.end();
  return rows.length;
}

(hasRedis ? describe : describe.skip)('servers that share a Redis', () => {
  let redis: RedisServer;
  let pair: Pair;

  beforeAll(async () => {
    redis = await RedisServer.start({ password: PASSWORD });
    pair = await startPair({ REDIS_URI: redis.uri, REDIS_KEY_PREFIX: 'mine:', AGENTPLANE_DEPLOYMENT: 'one' });
    await isConnected(pair.first, pair.second);
  });

  afterAll(async () => {
    await pair?.stop();
    await redis?.stop();
  });

  it('sends output by channels of its deployment, and keeps it out of the database', async () => {
    const channels = new Set<string>();
    const listener = createClient({ url: redis.uri });
    await listener.connect();
    const other = await startPair({ REDIS_URI: redis.uri, AGENTPLANE_DEPLOYMENT: 'two' });
    try {
      await isConnected(other.first, other.second);
      const texts: string[] = [];
      await listener.pSubscribe('*', (text, channel) => {
        texts.push(text);
        channels.add(channel.replace(/[0-9a-f-]{36}$/, 'SERVER'));
      });
      const { runId, heard, done } = await readElsewhere(pair, 30, 20);
      await done;
      expect(ticksOf(heard)).toEqual(upTo(30));
      expect([...channels]).toEqual(['mine:agentplane::one:output:SERVER']);
      expect(texts.every((text) => text.includes(runId))).toBe(true);
      expect(await keptEvents(pair.uri, runId)).toBeLessThan(15);
      expect(await listener.dbSize()).toBe(0);
    } finally {
      await listener.close();
      await other.stop();
    }
  });

  it('loses no event to a Redis that is killed and started again, and names it meanwhile', async () => {
    const { heard, done } = await readElsewhere(pair, 200, 25);
    await waitFor(() => heard.length > 10);
    await redis.stop();
    await waitFor(async () => typeof (await noteOf(pair.second)) === 'string');
    const killedAt = heard.length;
    await waitFor(() => heard.length > killedAt + 20);
    expect(await noteOf(pair.second)).toMatch(
      /^Redis at 127\.0\.0\.1:\d+ unavailable: .+; the database carries/,
    );
    await redis.start();
    await waitFor(async () => (await noteOf(pair.second)) === undefined);
    await done;
    expect(ticksOf(heard)).toEqual(upTo(200));
    expect(loggedBy(pair.second).filter((line) => line.startsWith('Redis unavailable'))).toHaveLength(1);
    expect(loggedBy(pair.second).filter((line) => line === 'connected to Redis')).toHaveLength(2);
  });

  it('loses no event to a Redis that stops answering', async () => {
    await waitFor(async () => (await noteOf(pair.first)) === undefined);
    const { heard, done } = await readElsewhere(pair, 120, 25);
    await waitFor(() => heard.length > 10);
    redis.signal('SIGSTOP');
    try {
      await done;
      expect(ticksOf(heard)).toEqual(upTo(120));
    } finally {
      redis.signal('SIGCONT');
    }
  });

  it('never logs the password', () => {
    expect(JSON.stringify([pair.first.log, pair.second.log])).not.toMatch(/not-to-be-shown/);
  });
});

(hasRedis ? describe : describe.skip)('a server', () => {
  it('starts and streams without the Redis that it names, and uses it once it accepts connections', async () => {
    const redis = await RedisServer.prepare();
    const pair = await startPair({ REDIS_URI: redis.uri });
    try {
      const before = await readElsewhere(pair, 5, 20);
      await before.done;
      expect(ticksOf(before.heard)).toEqual(upTo(5));
      await redis.start();
      await isConnected(pair.first, pair.second);
    } finally {
      await pair.stop();
      await redis.stop();
    }
  });

  it('reaches Redis by TLS, and names a wrong password in GET /ok', async () => {
    const redis = await RedisServer.start({ password: PASSWORD, tlsFolder: folder });
    const env = { REDIS_URI: redis.uri, NODE_EXTRA_CA_CERTS: redis.caFile ?? '' };
    const { uri } = await postgres.freshDatabase();
    const wrong = { ...env, REDIS_URI: redis.uri.replace('shown', 'known') };
    const servers = await Promise.all([
      ServerProcess.start({ uri, env }),
      ServerProcess.start({ uri, env: wrong }),
    ]);
    try {
      await isConnected(servers[0]);
      expect(await noteOf(servers[1])).toMatch(/WRONGPASS/);
      expect(JSON.stringify(servers[1].log)).not.toMatch(/not-to-be-known/);
    } finally {
      await Promise.all(servers.map((server) => server.stop()));
      await redis.stop();
    }
  });

  it('sends output between nodes of a cluster, whichever it is connected to', async () => {
    const start = (name: string): Promise<RedisServer> => {
      const words = ['--cluster-enabled', 'yes', '--cluster-config-file', join(folder, `${name}.conf`)];
      return RedisServer.start({ words });
    };
    const nodes = [await start('one'), await start('two')] as const;
    const client = createClient({ url: nodes[0].uri });
    await client.connect();
    await client.sendCommand(['CLUSTER', 'MEET', '127.0.0.1', String(nodes[1].port)]);
    await client.sendCommand(['CLUSTER', 'ADDSLOTSRANGE', '0', '16383']);
    await waitFor(async () =>
      String(await client.sendCommand(['CLUSTER', 'INFO'])).includes('known_nodes:2'),
    );
    await client.close();
    const { uri } = await postgres.freshDatabase();
    const hosts = nodes.map(({ port }) => `127.0.0.1:${port}`);
    const [first, second] = await Promise.all(
      [hosts, hosts.toReversed()].map((list) =>
        ServerProcess.start({ uri, env: { REDIS_URI: `redis://${list.join(',')}` } }),
      ),
    );
    try {
      if (!first || !second) throw new Error('no servers');
      await isConnected(first, second);
      const { heard, done } = await readElsewhere({ uri, first, second, stop: first.stop }, 20, 20);
      await done;
      expect(ticksOf(heard)).toEqual(upTo(20));
    } finally {
      await Promise.all([first?.stop(), second?.stop(), ...nodes.map((node) => node.stop())]);
    }
  });

  it('follows sentinels to the primary, and to the next one when that is killed', async () => {
    const primary = await RedisServer.start();
    const replica = await RedisServer.start({ words: ['--replicaof', '127.0.0.1', String(primary.port)] });
    const file = join(folder, 'sentinel.conf');
    writeFileSync(
      file,
      [
        `sentinel monitor main 127.0.0.1 ${primary.port} 1`,
        'sentinel down-after-milliseconds main 500',
        'sentinel failover-timeout main 2000',
      ].join('\n'),
    );
    const sentinel = await RedisServer.startSentinel(file);
    const pair = await startPair({
      REDIS_URI: `redis+sentinel://127.0.0.1:1,127.0.0.1:${sentinel.port}/main`,
    });
    try {
      await isConnected(pair.first, pair.second);
      // a sentinel learns of replicas by asking the primary every ten seconds
      const asked = createClient({ url: sentinel.uri });
      await asked.connect();
      await waitFor(async () =>
        JSON.stringify(await asked.sendCommand(['SENTINEL', 'REPLICAS', 'main'])).includes(
          String(replica.port),
        ),
      );
      await asked.close();
      const { heard, done } = await readElsewhere(pair, 100, 25);
      await waitFor(() => heard.length > 5);
      await primary.stop();
      await done;
      expect(ticksOf(heard)).toEqual(upTo(100));
      const moved = ({ log }: ServerProcess): boolean =>
        JSON.stringify(log).includes(`"redis":"Redis at 127.0.0.1:${replica.port}"`);
      await waitFor(() => moved(pair.first) && moved(pair.second));
    } finally {
      await pair.stop();
      await Promise.all([primary.stop(), replica.stop(), sentinel.stop()]);
    }
  });

  it('refuses a REDIS_URI of another protocol', async () => {
    const { uri } = await postgres.freshDatabase();
    expect(await ServerProcess.startAndEnd({ uri, env: { REDIS_URI: 'http://127.0.0.1:1' } })).toBe(2);
  });
});
