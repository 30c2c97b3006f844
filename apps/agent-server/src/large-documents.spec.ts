import { testServer } from '../testdata/test-server.js';

const server = testServer();

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

  it('refuses one of very many values, also where changes put it together', async () => {
    const many = (name: string, count: number) =>
      `{${Array.from({ length: count }, (_, n) => `"${name}${n}":0`).join()}}`;
    const bodyOf = (metadata: string) => `{"graph_id":"counter","metadata":${metadata}}`;
    expect(await send('POST', '/assistants', bodyOf(many('a', 20_000)))).toMatchObject({
      status: 422,
      body: { detail: [{ msg: 'must not hold more than 20000 values' }] },
    });
    const { assistant_id: assistant } = (await send('POST', '/assistants', bodyOf(many('a', 15_000)))).body;
    const path = `/assistants/${assistant}`;
    expect((await send('PATCH', path, `{"metadata":${many('b', 15_000)}}`)).status).toBe(413);
    expect((await send('PATCH', path, `{"metadata":${many('b', 4_000)}}`)).status).toBe(200);
    const run = `{"assistant_id":"${assistant}","metadata":${many('c', 4_000)}}`;
    expect((await send('POST', '/runs', run)).status).toBe(413);
  });

  it('makes no run of an assistant whose metadata are larger than those of a run', async () => {
    const { assistant_id: assistant } = (await send('POST', '/assistants', '{"graph_id":"counter"}')).body;
    for (const name of ['a', 'b'])
      await send('PATCH', `/assistants/${assistant}`, `{"metadata":{"${name}":"${'x'.repeat(600_000)}"}}`);
    const { status, body } = await send('POST', '/runs', `{"assistant_id":"${assistant}"}`);
    expect([status, JSON.stringify(body)]).toEqual([413, expect.stringContaining('1048576')]);
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
