import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { createLogger } from '#lib/telemetry';
import { temporaryFolder, waitFor } from '#lib/testing';
import { systemClock } from '#lib/time';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../embedded-postgres.js';
import { draftCluster, removeCluster } from '../restored-cluster.js';
import { withBaseBackup } from './base-backup.js';

const log = createLogger('test', 'silent');

async function open(uri: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: uri });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

describe('withBaseBackup', () => {
  const original = temporaryFolder();
  const copy = temporaryFolder();
  let postgres: EmbeddedPostgres;
  let uris: readonly string[] = [];

  const start = (dataDir: string): Promise<EmbeddedPostgres> =>
    startEmbeddedPostgres({ dataDir, port: 0, log, clock: systemClock, isTied: true });

  beforeAll(async () => {
    postgres = await start(original);
    uris = [
      await postgres.ensureDatabase({ database: 'first', role: 'first' }),
      await postgres.ensureDatabase({ database: 'second', role: 'second' }),
    ];
  });

  afterAll(async () => {
    await postgres.stop();
    for (const folder of [original, copy]) removeCluster(folder);
  });

  /** Unpacks with the system's own tar, which knows nothing of ours. */
  async function copyTo(dataDir: string): Promise<void> {
    const draft = draftCluster(dataDir);
    const tar = join(dataDir, 'base.tar');
    await withBaseBackup(postgres.superuserUri, async ({ archive, expectedBytes }) => {
      expect(expectedBytes).toBeGreaterThan(10 << 20);
      const pieces: Buffer[] = [];
      for await (const piece of archive as AsyncIterable<Buffer>) pieces.push(piece);
      writeFileSync(tar, Buffer.concat(pieces));
    });
    execFileSync('tar', ['-xf', tar, '-C', draft.folder], { stdio: ['ignore', 'ignore', 'ignore'] });
    if (draft.owner) execFileSync('chown', ['-R', `${draft.owner.uid}:${draft.owner.gid}`, draft.folder]);
    execFileSync('cp', ['-a', join(original, 'secrets'), dataDir]);
    draft.settle();
  }

  it('copies all databases of one moment, types and functions included, while they are written to', async () => {
    const [first, second] = await Promise.all(uris.map(open));
    if (!first || !second) throw new Error('two databases are expected');
    for (const client of [first, second]) {
      await client.query('CREATE TABLE steps (n int PRIMARY KEY, filling text)');
      await client.query("CREATE TYPE mood AS ENUM ('calm', 'busy')");
      await client.query("CREATE FUNCTION now_is() RETURNS mood LANGUAGE sql AS $$ SELECT 'busy'::mood $$");
    }
    let isWriting = true;
    let steps = 0;
    const writing = (async () => {
      for (; isWriting; steps++)
        for (const client of [first, second])
          await client.query('INSERT INTO steps VALUES ($1, $2)', [steps, 'x'.repeat(5_000)]);
    })();
    await waitFor(() => steps >= 100);
    const before = steps;
    await copyTo(copy);
    isWriting = false;
    await writing;
    for (const client of [first, second]) await client.end();

    const restored = await start(copy);
    try {
      const most: number[] = [];
      for (const database of ['first', 'second']) {
        const client = await open(await restored.ensureDatabase({ database, role: database }));
        const { rows } = await client.query<{ most: number; all: number; mood: string }>(
          'SELECT max(n) AS most, count(*)::int AS all, now_is() AS mood FROM steps',
        );
        await client.end();
        expect(rows[0]).toMatchObject({ all: (rows[0]?.most ?? 0) + 1, mood: 'busy' });
        most.push(rows[0]?.most ?? 0);
      }
      // a step is written to the first database, then to the second: no other difference was ever there
      expect([0, 1]).toContain((most[0] ?? 0) - (most[1] ?? 0));
      expect(most[1]).toBeGreaterThanOrEqual(before - 1);
    } finally {
      await restored.stop();
    }
  });

  it('refuses a second backup at the same time, and leaves no slot behind', async () => {
    await withBaseBackup(postgres.superuserUri, async ({ archive }) => {
      await expect(withBaseBackup(postgres.superuserUri, () => Promise.resolve())).rejects.toThrow(
        'another backup of this platform is running; wait for its end',
      );
      for await (const piece of archive) void piece;
    });
    const failing = withBaseBackup(postgres.superuserUri, () =>
      Promise.reject(new Error('the disk is full')),
    );
    await expect(failing).rejects.toThrow('the disk is full');
    const client = await open(postgres.superuserUri);
    const slots = async (): Promise<number | null> =>
      (await client.query('SELECT FROM pg_replication_slots')).rowCount;
    await waitFor(async () => (await slots()) === 0);
    await client.end();
  });

  it('reports a page that is damaged', async () => {
    const client = await open(uris[0] ?? '');
    await client.query('CREATE TABLE damaged AS SELECT * FROM generate_series(1, 1000)');
    await client.query('CHECKPOINT').catch(() => undefined);
    const path = (await client.query<{ path: string }>("SELECT pg_relation_filepath('damaged') AS path"))
      .rows[0];
    await client.end();
    await postgres.stop();
    const note = join(original, 'postgres.location');
    const place = existsSync(note) ? readFileSync(note, 'utf8').trim() : join(original, 'postgres');
    const file = join(place, 'data-18', path?.path ?? '');
    const page = readFileSync(file);
    page.fill(0x5a, 4_000, 4_050);
    writeFileSync(file, page);
    postgres = await start(original);
    const copying = withBaseBackup(postgres.superuserUri, async ({ archive }) => {
      for await (const piece of archive) void piece;
    });
    await expect(copying).rejects.toThrow('checksum verification failure');
  });
});
