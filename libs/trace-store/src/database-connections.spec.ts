import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { createLogger } from '#lib/telemetry';
import { testPostgres, waitFor } from '#lib/testing';
import { parseInstant, systemClock } from '#lib/time';
import { openTraceStore, type RunOperation, type TraceStore } from './index.js';

const postgres = testPostgres();
const TENANT = randomUUID();

/** Simulates the effect of a restart of Postgres on its clients, any number of times. */
describe('a trace store whose connections are ended by the server', () => {
  let store: TraceStore;
  let killer: pg.Client;

  beforeAll(async () => {
    const { uri } = await postgres.freshDatabase();
    store = openTraceStore({ uri, poolSize: 4, log: createLogger('test', 'silent'), clock: systemClock });
    await store.migrate();
    killer = new pg.Client({ connectionString: uri });
    await killer.connect();
  });
  afterAll(async () => {
    await killer.end();
    await store.close();
  });

  const endAll = async (): Promise<void> => {
    await killer.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND application_name = 'agentplane trace store'`,
    );
  };
  const operation = (id: string): RunOperation => ({
    run: Buffer.from(
      JSON.stringify({
        id,
        name: 'n',
        run_type: 'chain',
        start_time: '2026-11-20T10:00:00Z',
        inputs: { a: 1 },
      }),
    ),
  });

  it('fails the batches that were under way, stores them when they are sent again, and keeps running', async () => {
    const ids = Array.from({ length: 300 }, () => randomUUID());
    let failures = 0;
    const send = async (id: string): Promise<void> => {
      for (;;) {
        try {
          await store.ingest(TENANT, { post: [operation(id)], patch: [] });
          return;
        } catch {
          failures++;
        }
      }
    };
    let isOver = false;
    const killing = (async () => {
      while (!isOver) await endAll();
    })();
    const first = Promise.all(ids.slice(0, 150).map(send));
    while (failures < 20) await new Promise((resolve) => setImmediate(resolve));
    isOver = true;
    await killing;
    await first;
    await Promise.all(ids.slice(150).map(send));
    for (const id of ids) await waitFor(() => store.runs.get(TENANT, id).catch(() => undefined));
  });

  it('ends an export that is being read with an error instead of an early end', async () => {
    const project = await store.projects.ensure(TENANT, 'default');
    const { stream } = await store.exportSource.read({
      tenantId: TENANT,
      projectId: project.id,
      startTime: parseInstant('2026-11-20', { zone: 'optional' }) ?? 0n,
      endTime: parseInstant('2026-11-21', { zone: 'optional' }) ?? 0n,
    });
    await endAll();
    const read = stream.toArray().then(
      (chunks) =>
        Buffer.concat(chunks as Buffer[])
          .subarray(-2)
          .equals(Buffer.from([0xff, 0xff])),
      () => 'failed',
    );
    // a result as small as this may have arrived whole before the connection ended
    expect(['failed', true]).toContain(await read);
    // one connection or another may only now notice that it has ended
    await waitFor(async () => (await store.databaseTime().catch(() => undefined)) !== undefined);
  });
});
