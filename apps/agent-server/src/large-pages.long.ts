import { testServer } from '../testdata/test-server.js';

const server = testServer();

async function send(method: string, path: string, body?: object) {
  const response = await fetch(`${server.url}${path}`, {
    method,
    ...(body ? { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) } : {}),
  });
  expect(response.status).toBe(200);
  return {
    body: (await response.json()) as Record<string, string>[],
    next: response.headers.get('x-pagination-next'),
  };
}

/** A few kilobytes in the database, and half of what an answer may hold once they are read: 950,000 of them. */
const zeros = (count: number): number[] => Array.from({ length: count }, () => 0);

describe('a server with large rows', () => {
  it('answers a search of threads and a list of runs in parts', async () => {
    const { thread_id: id } = (await send('POST', '/threads', {})).body as unknown as { thread_id: string };
    const created = [id];
    for (let n = 0; n < 3; n++) {
      // each run makes the state larger; a copy keeps its size
      const input = { steps: [zeros(950_000)] };
      await send('POST', `/threads/${id}/runs/wait`, { assistant_id: 'counter', input });
      const copy = (await send('POST', `/threads/${id}/copy`)).body as unknown as { thread_id: string };
      created.push(copy.thread_id);
    }

    const found: string[] = [];
    const parts: number[] = [];
    for (let offset = 0; ;) {
      const part = await send('POST', '/threads/search', { limit: 1000, offset });
      found.push(...part.body.map((thread) => thread['thread_id'] ?? ''));
      parts.push(part.body.length);
      if (part.next === null) break;
      offset = Number(part.next);
    }
    expect(parts.length).toBeGreaterThan(1);
    expect(found).toEqual(created.reverse());

    const runs = (await send('GET', `/threads/${id}/runs?limit=1000`)).body;
    expect(runs).toHaveLength(2);
    expect((await send('GET', `/threads/${id}/runs?limit=1000&offset=2`)).body).toHaveLength(1);
  });

  it('answers a search of assistants in parts', async () => {
    // a few kilobytes each in the database
    const config = { zeros: '0'.repeat(1_000_000) };
    for (let n = 0; n < 40; n++) await send('POST', '/assistants', { graph_id: 'made', config });
    const { body, next } = await send('POST', '/assistants/search', { graph_id: 'made', limit: 1000 });
    expect(body.length).toBeLessThan(41);
    expect(next).toBe(String(body.length));
  });
});
