import { testServer } from '../testdata/test-server.js';

const server = testServer();

async function post(path: string, body: object): Promise<string> {
  const response = await fetch(`${server.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  expect(response.status).toBe(200);
  return response.text();
}

interface State {
  readonly checkpoint: { readonly checkpoint_id: string };
  readonly values: { readonly steps?: readonly string[] };
}

it('answers a history in parts where its states are large', async () => {
  const { thread_id: thread } = JSON.parse(await post('/threads', {})) as { thread_id: string };
  const run = { assistant_id: 'counter', input: { steps: ['x'.repeat(2_500_000)] } };
  for (let n = 0; n < 3; n++) await post(`/threads/${thread}/runs/wait`, run);

  const states: State[] = [];
  const parts: number[] = [];
  for (let before: string | undefined; ; before = states.at(-1)?.checkpoint.checkpoint_id) {
    const text = await post(`/threads/${thread}/history`, { limit: 1000, before });
    expect(text.length).toBeLessThan(34_000_000);
    const part = JSON.parse(text) as State[];
    if (part.length === 0) break;
    parts.push(part.length);
    states.push(...part);
  }
  // a run makes three: its input, its beginning, its end
  expect(states).toHaveLength(9);
  expect(parts.length).toBeGreaterThan(1);
  const ids = states.map(({ checkpoint }) => checkpoint.checkpoint_id);
  expect(ids).toEqual([...new Set(ids)].sort().reverse());
  expect(states.map(({ values }) => values.steps?.length ?? 0)).toEqual([6, 5, 4, 4, 3, 2, 2, 1, 0]);
});
