import { openPool, type Pool } from '#lib/postgres';
import { createLogger } from '#lib/telemetry';
import { waitFor } from '#lib/testing';
import { testServer } from '../testdata/test-server.js';

const server = testServer();
let pool: Pool;

beforeAll(() => {
  pool = openPool({ uri: server.uri, applicationName: 'test', log: createLogger('test', 'silent') });
});
afterAll(() => pool.end());

async function post(batch: readonly unknown[]): Promise<{ status: number; body: unknown }> {
  const response = await fetch(`${server.url}/runs/batch`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(batch),
  });
  return { status: response.status, body: await response.json() };
}

/** Threads and runs that were kept or not, by the mark in their metadata. */
async function made(mark: string): Promise<number> {
  const { rows } = await pool.query<{ found: number }>(
    `SELECT (SELECT count(*) FROM agentplane.runs WHERE metadata ->> 'mark' = $1)::int
      + (SELECT count(*) FROM agentplane.threads WHERE metadata ->> 'mark' = $1)::int AS found`,
    [mark],
  );
  return rows[0]?.found ?? -1;
}

/** Runs that do not begin while the test looks. */
function later(mark: string, more: object = {}) {
  return { assistant_id: 'counter', input: {}, metadata: { mark }, after_seconds: 1_000, ...more };
}

describe('a batch of runs', () => {
  it('makes every run in the order of the request, also more than there are places for', async () => {
    const words = Array.from({ length: 300 }, (_, at) => `word ${at}`);
    const { status, body } = await post(
      words.map((word, at) => ({
        assistant_id: 'counter',
        input: {},
        metadata: { mark: 'all', word },
        ...(at % 100 === 0 ? { on_completion: 'keep' } : {}),
      })),
    );
    expect(status).toBe(200);
    const runs = body as { metadata: { word: string }; run_id: string; thread_id: string }[];
    expect(runs.map(({ metadata }) => metadata.word)).toEqual(words);
    const kept = runs.filter((_, at) => at % 100 === 0);
    for (const { run_id: runId, thread_id: threadId } of kept)
      await server.client().runs.join(threadId, runId);
    // runs that are not kept leave nothing
    await waitFor(async () => (await made('all')) === 2 * kept.length);
  });

  it.each([
    ['names an assistant that does not exist', 404, { assistant_id: '00000000-0000-4000-8000-000000000000' }],
    ['asks for too many steps', 422, { config: { recursion_limit: 1_000_000 } }],
    ['names an address that must not be called', 422, { webhook: 'http://169.254.169.254/' }],
  ])('makes no run when one of them %s', async (_, status, bad) => {
    const mark = `refused ${status} ${JSON.stringify(bad)}`;
    const kept = later(mark, { on_completion: 'keep' });
    expect((await post([kept, later(mark), later(mark, bad), later(mark)])).status).toBe(status);
    expect(await made(mark)).toBe(0);
  });

  it('makes no run when the database refuses one of them', async () => {
    await pool.query(`
      CREATE FUNCTION refuse_bad() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN RAISE EXCEPTION 'out of space' USING ERRCODE = 'disk_full'; END $$;
      CREATE TRIGGER refuse_bad BEFORE INSERT ON agentplane.runs FOR EACH ROW
        WHEN (NEW.metadata ? 'bad') EXECUTE FUNCTION refuse_bad()`);
    const many = Array.from({ length: 400 }, (_, at) =>
      later('database', at % 2 ? {} : { on_completion: 'keep' }),
    );
    const bad = later('database', { metadata: { mark: 'database', bad: true } });
    expect((await post([...many, bad])).status).toBeGreaterThanOrEqual(500);
    expect(await made('database')).toBe(0);
    // the places that were kept for them are free again
    const { status } = await post(Array.from({ length: 20 }, () => ({ assistant_id: 'counter', input: {} })));
    expect(status).toBe(200);
    await server.client().runs.wait(null, 'counter', { input: {} });
  });

  it('refuses webhooks of more than 32 hosts, and takes any number of one', async () => {
    const to = (host: (at: number) => string) =>
      Array.from({ length: 1_000 }, (_, at) => later('hosts', { webhook: `https://${host(at)}/hook/${at}` }));
    const { status, body } = await post(to((at) => `host-${at}.example.com`));
    expect([status, body]).toEqual([
      422,
      {
        detail: [
          {
            loc: ['body', 'webhook'],
            msg: expect.stringMatching(/names 1000 hosts of webhooks; name at most 32/),
            type: 'webhook_refused',
          },
        ],
      },
    ]);
    expect(await made('hosts')).toBe(0);
    expect((await post(to((at) => `host-${at % 32}.example.com`))).status).toBe(200);
  });
});
