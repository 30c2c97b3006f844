import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import { quietFor, testPostgres, waitFor } from '#lib/testing';
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

async function start(env: Readonly<Record<string, string>> = {}): Promise<ServerProcess> {
  const server = await ServerProcess.start({ uri, env: { AGENTPLANE_SETTLE_MS: '20000', ...env } });
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
  it('answers requests whose runs were not stored yet, with what another server made of them', async () => {
    const stopping = await start();
    await start(); // before the stop, which waits for a time that a busy machine takes to start one
    const held = await holdInserts();
    const answers = Array.from({ length: 8 }, () =>
      stopping.client().runs.wait(null, 'slow', { input: { waitMs: 5 } }),
    );
    const ended = Promise.allSettled(answers);
    await waitFor(() => held.waits(), { what: 'the run to wait for the database' });
    stopping.signal('SIGTERM');
    await waitFor(() => stopping.log.some(({ msg }) => msg === 'stopping'), { what: 'the stop' });
    await quietFor(300); // a server that overlooks the request closes in the meantime
    await held.release();
    expect(await ended).toEqual(
      answers.map(() => ({
        status: 'fulfilled',
        value: expect.objectContaining({ steps: [0, 1, 2].map(() => expect.anything()) }),
      })),
    );
    await stopping.exited;
  });

  it('serves on behind a Service for a while, and ends each connection with an answer', async () => {
    const server = await start({ AGENTPLANE_SERVICE_URL: 'http://agent.ws-team.svc' });
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const ask = async (path: string): Promise<[number | undefined, string | undefined]> => {
      const [answer] = (await once(get(`${server.url}${path}`, { agent }), 'response')) as [IncomingMessage];
      answer.resume();
      await once(answer, 'end');
      return [answer.statusCode, answer.headers.connection];
    };
    expect(await ask('/info')).toEqual([200, 'keep-alive']);
    const run = server.client().runs.stream(null, 'slow', { input: { waitMs: 300 } });
    await run.next();
    server.signal('SIGTERM');
    await waitFor(() => server.log.some(({ msg }) => msg === 'stopping'), { what: 'the stop' });
    // on the earlier connection, and on new ones
    expect(await ask('/info')).toEqual([200, 'close']);
    expect(await ask('/assistants/agent')).toEqual([404, 'close']);
    expect(await ask('/ok')).toEqual([503, 'close']);
    for await (const { event } of run) expect(event).not.toBe('error');
    await server.exited;
    await expect(ask('/ok')).rejects.toThrow('ECONNREFUSED');
    agent.destroy();
  });

  it('answers streams that begin while it stops as the last of their connections', async () => {
    await start(); // takes the runs of the other
    const server = await start({ AGENTPLANE_SERVICE_URL: 'http://agent.ws-team.svc' });
    const stream = async (): Promise<string | null> => {
      const body = JSON.stringify({ assistant_id: 'slow', input: { waitMs: 5 } });
      const headers = { 'content-type': 'application/json' };
      const answer = await fetch(`${server.url}/runs/stream`, { method: 'POST', body, headers });
      await answer.text();
      return answer.headers.get('connection');
    };
    expect(await stream()).toBe('keep-alive');
    server.signal('SIGTERM');
    await waitFor(() => server.log.some(({ msg }) => msg === 'stopping'), { what: 'the stop' });
    expect(await stream()).toBe('close');
    await server.exited;
  });
});
