import { testPostgres } from '#lib/testing';
import { ServerProcess } from '../testdata/start-server.js';

const postgres = testPostgres();
let server: ServerProcess;

beforeAll(async () => {
  server = await ServerProcess.start({ uri: (await postgres.freshDatabase()).uri });
});

afterAll(async () => {
  await server?.stop();
});

async function send(method: string, path: string, body?: string) {
  const response = await fetch(`${server.url}${path}`, {
    method,
    ...(body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body }),
  });
  const text = await response.text();
  return { status: response.status, body: (text === '' ? {} : JSON.parse(text)) as Record<string, unknown> };
}

/** Few bytes here; jsonb prints each number with 309 digits. */
const LONG_NUMBERS = `{"a":[${'1e308,'.repeat(900_000)}0]}`;
const LARGE_TEXT = `{"a":"${'x'.repeat(1024 * 1024)}"}`;
const RUN = '"assistant_id":"counter","input":{}';

describe('a server that gets a document to be read with its row', () => {
  it.each([
    ['/threads', (metadata: string) => `{"metadata":${metadata}}`],
    ['/runs', (metadata: string) => `{${RUN},"metadata":${metadata}}`],
    ['/runs', (metadata: string) => `{${RUN},"config":{"metadata":${metadata}}}`],
    ['/assistants', (metadata: string) => `{"graph_id":"counter","config":${metadata}}`],
    ['/threads/search', (metadata: string) => `{"metadata":${metadata}}`],
  ])('refuses a large one, and one that is long where it is printed, at %s %#', async (path, bodyOf) => {
    for (const metadata of [LONG_NUMBERS, LARGE_TEXT])
      expect(await send('POST', path, bodyOf(metadata))).toMatchObject({
        status: 422,
        body: { detail: [{ msg: 'must not be larger than 1048576 bytes' }] },
      });
    expect((await send('GET', '/ok')).status).toBe(200);
  });

  it('lets none grow without an end by changes', async () => {
    const thread = (await send('POST', '/threads', '{}')).body['thread_id'];
    await send('POST', `/threads/${thread}/runs/wait`, `{${RUN}}`);
    const { assistant_id: assistant } = (await send('POST', '/assistants', '{"graph_id":"counter"}')).body;
    const places = [`/threads/${thread}`, `/threads/${thread}/state`, `/assistants/${assistant}`];
    for (const path of places) {
      const statuses: number[] = [];
      for (let n = 0; n < 5; n++)
        statuses.push(
          (await send('PATCH', path, `{"metadata":{"k${n}":"${'x'.repeat(1_000_000)}"}}`)).status,
        );
      expect([path, statuses]).toEqual([path, [200, 200, 200, 200, 413]]);
    }
  });

  it('keeps one that a configuration holds out of checkpoints', async () => {
    const thread = (await send('POST', '/threads', '{}')).body['thread_id'];
    const body = `{${RUN},"config":{"configurable":{"small":"x","text":"${'x'.repeat(2_000_000)}"}}}`;
    expect((await send('POST', `/threads/${thread}/runs/wait`, body)).status).toBe(200);
    const { metadata } = (await send('GET', `/threads/${thread}/state`)).body as { metadata: object };
    expect(metadata).toMatchObject({ graph_id: 'counter' });
    expect(metadata).not.toHaveProperty('text');
  });
});
