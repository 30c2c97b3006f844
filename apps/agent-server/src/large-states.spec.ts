import { largeStates, largeValues, MESSAGES, rpc } from '../testdata/large-states.js';

const large = largeStates();
const { id, ask } = large;

describe('a server whose database holds large states', () => {
  it('hides the caller of a run with a large input, and keeps the rest as it is', async () => {
    const response = await fetch(`${large.server.url}/threads/${id.waiting}/runs/${id.run}`);
    const { kwargs } = (await response.json()) as { kwargs: Record<string, unknown> };
    expect(Object.keys(kwargs)).toEqual(['input', 'stream_mode', 'subgraphs']);
    expect(kwargs['input']).toEqual(JSON.parse(largeValues()));
  });

  it('finds the answer of a task, and values of threads, in a large state', async () => {
    const last = MESSAGES - 1;
    const text = `text ${last} ${'x'.repeat(120)}`;
    const task = await ask('POST', '/a2a/echo', rpc('tasks/get', { id: id.task }));
    expect(task).toMatchObject({ result: { artifacts: [{ parts: [{ text }] }] } });
    const extract = {
      last: 'values.messages[-1].content',
      first: 'values.messages[0].id',
      none: 'values.none[3]',
    };
    const found = await ask('POST', '/threads/search', { ids: [id.thread], select: ['status'], extract });
    expect(found).toEqual([{ status: 'idle', extracted: { last: text, first: 'message-0', none: null } }]);
  });
});
