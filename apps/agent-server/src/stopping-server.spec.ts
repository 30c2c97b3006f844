import { setTimeout as sleep } from 'node:timers/promises';
import { testPostgres, waitFor } from '#lib/testing';
import pg from 'pg';
import { ServerProcess } from '../testdata/start-server.js';

const postgres = testPostgres();
const started: ServerProcess[] = [];
let uri: string;

beforeEach(async () => {
  uri = (await postgres.freshDatabase()).uri;
});

afterEach(async () => {
  await Promise.all(started.splice(0).map((server) => server.stop('SIGKILL')));
});

async function start(): Promise<ServerProcess> {
  const server = await ServerProcess.start({ uri, env: { AGENTPLANE_SETTLE_MS: '20000' } });
  started.push(server);
  return server;
}

/** Keeps runs from being inserted until `release` is called; nothing else waits. */
async function holdInserts(): Promise<{ waits(): Promise<boolean>; release(): Promise<void> }> {
  const holder = new pg.Client({ connectionString: uri });
  await holder.connect();
  await holder.query(`
    CREATE FUNCTION public.wait_for_release() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NEW; END $$;
    CREATE TRIGGER held BEFORE INSERT ON agentplane.runs
      FOR EACH ROW EXECUTE FUNCTION public.wait_for_release();
    SELECT pg_advisory_lock(1)`);
  return {
    async waits() {
      const { rows } = await holder.query(
        `SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`,
      );
      return rows.length > 0;
    },
    release: () => holder.end(),
  };
}

describe('a server that stops', () => {
  it('answers a request whose run was not stored yet, with what another server made of it', async () => {
    const stopping = await start();
    const held = await holdInserts();
    const answer = stopping.client().runs.wait(null, 'slow', { input: { waitMs: 5 } });
    answer.catch(() => undefined);
    await waitFor(() => held.waits(), { what: 'the insert, which waits' });
    stopping.signal('SIGTERM');
    await waitFor(() => stopping.log.some(({ msg }) => msg === 'stopping'), { what: 'the stop' });
    await sleep(500); // a server that overlooks the request closes meanwhile
    await held.release();
    await start();
    expect(((await answer) as { steps: unknown[] }).steps).toHaveLength(3);
    await stopping.exited;
  });
});
