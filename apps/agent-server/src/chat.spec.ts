import { join } from 'node:path';
import { testServer } from '../testdata/test-server.js';

const TALKING_AGENT = join(import.meta.dirname, '..', 'testdata', 'talking-agent');
const server = testServer({ folder: TALKING_AGENT });

function get(path: string): Promise<Response> {
  return fetch(`${server.url}${path}`, { redirect: 'manual' });
}

function post(
  path: string,
  fields: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  const body = new URLSearchParams(fields);
  return fetch(`${server.url}${path}`, { method: 'POST', redirect: 'manual', body, headers });
}

const ORDER = { sort_by: 'created_at', sort_order: 'asc' };

/** Begins a thread with a graph, as the form of the page does; the path of its page. */
async function begin(graph: string): Promise<string> {
  const found = await server.client().assistants.search({ graphId: graph, ...ORDER });
  const answer = await post('/chat/threads', { assistant: found[0]?.assistant_id ?? '' });
  expect(answer.status).toBe(303);
  return answer.headers.get('location') ?? '';
}

const page = async (path: string): Promise<string> => (await get(path)).text();

describe('the server of the chat', () => {
  it('leads from the address of a server without keys to its threads, and offers all graphs', async () => {
    const opening = await get('/chat');
    expect([opening.status, opening.headers.get('location')]).toEqual([303, '/chat/threads']);
    const threads = await get('/chat/threads');
    expect(threads.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(await threads.text()).toMatch(/<option value="[^"]+">echo<\/option>/);
  });

  it('takes a message by a form, and shows the answer of the chosen graph', async () => {
    const path = await begin('echo');
    expect((await post(path, { text: 'hello <b>' })).headers.get('location')).toBe(path);
    const shown = await page(path);
    expect(shown).toContain('1: hello &lt;b&gt;');
    expect(shown).not.toContain('hello <b>');
    expect(await page('/chat/threads')).toContain('hello &lt;b&gt;');
  });

  it('sends an answer as it comes to a script', async () => {
    const path = await begin('echo');
    const answer = await post(path, { text: 'one two' }, { accept: 'application/x-ndjson' });
    const pieces = (await answer.text())
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { text: string });
    expect(pieces.length).toBeGreaterThan(1);
    expect(pieces.map(({ text }) => text).join('')).toBe('1: one two');
  });

  it('asks what the graph asks, and refuses an answer to another question', async () => {
    const path = await begin('asking');
    await post(path, { text: 'paint' });
    const asked = await page(path);
    expect(asked).toContain('Which colour?');
    expect((await post(path, { text: 'blue' })).status).toBe(409);
    const [, question = ''] = /name="question" value="([^"]+)"/.exec(asked) ?? [];
    await post(path, { question, answer: 'blue' });
    expect(await page(path)).toContain('painted');
  });

  it('shows in words that a thread is larger than a page can show, and reads no more of it', async () => {
    const { thread_id: threadId } = await server.client().threads.create();
    const input = { messages: [{ role: 'user', content: 'x'.repeat(9_000_000) }] };
    await server.client().runs.wait(threadId, 'echo', { input });
    const shown = await get(`/chat/threads/${threadId}`);
    expect([shown.status, await shown.json()]).toEqual([
      413,
      { detail: 'Reading failed: the answer is larger than 8388608 bytes' },
    ]);
    expect(await page('/chat/threads')).toContain(threadId.slice(0, 8));
    await server.client().threads.delete(threadId);
  });

  it('refuses forms of pages of other hosts, threads that do not exist, and failed runs in words', async () => {
    const foreign = await post('/chat/threads', {}, { origin: 'https://evil.example' });
    expect(foreign.status).toBe(403);
    expect((await get('/chat/threads/11111111-1111-4111-8111-111111111111')).status).toBe(404);
    const answer = await post(await begin('failing'), { text: 'go' });
    expect(answer.status).toBe(409);
    expect(await answer.json()).toEqual({ detail: expect.stringMatching(/^The run failed: /) });
  });
});
