import { randomUUID } from 'node:crypto';
import { testServer } from '../testdata/test-server.js';

const MESSAGES = { input: { messages: [{ type: 'human', content: 'hello' }] } };

interface Event {
  readonly event: string;
  readonly data: unknown;
}

describe('an answer whose words clients match', () => {
  const server = testServer();

  async function streamed(streamMode: ('messages' | 'values' | 'events')[]): Promise<Event[]> {
    const events: Event[] = [];
    for await (const event of server.client().runs.stream(null, 'chat', { ...MESSAGES, streamMode }))
      events.push(event);
    return events;
  }

  it('says which assistant does not exist', async () => {
    const [client, id] = [server.client(), randomUUID()];
    await expect(client.assistants.get(id)).rejects.toThrow(`Assistant not found: ${id}`);
    await expect(client.runs.wait(null, 'absent', MESSAGES)).rejects.toThrow(
      /404.*No assistant found for \\"absent\\"/,
    );
  });

  it('refuses a copy of a thread that does not exist with 409', async () => {
    await expect(server.client().threads.copy(randomUUID())).rejects.toMatchObject({ status: 409 });
  });

  it('shows the events of a graph without the chunks of the graph itself', async () => {
    const kinds = (await streamed(['events'])).map(({ data }) => (data as { event?: string }).event);
    expect([...new Set(kinds)].sort()).toEqual(
      [
        undefined,
        'on_chain_end',
        'on_chain_start',
        'on_chat_model_end',
        'on_chat_model_start',
        'on_chat_model_stream',
      ].sort(),
    );
  });

  it('ends with an event of feedback where keys are given, which has no address without a platform', async () => {
    const asked = { ...MESSAGES, feedbackKeys: ['helpful'] };
    const { thread_id: id } = await server.client().threads.create();
    const events: unknown[] = [];
    for await (const event of server.client().runs.stream(id, 'chat', asked)) events.push(event);
    expect(events.at(-1)).toMatchObject({ event: 'feedback', data: {} });
    const [run] = await server.client().runs.list(id);
    expect(run).toMatchObject({ kwargs: { feedback_keys: ['helpful'] } });
    expect(server.log).toContainEqual(
      expect.objectContaining({ error: 'the server belongs to no platform' }) as unknown,
    );
  });

  it('leaves threads out of searches and counts by their metadata', async () => {
    const [client, mark] = [server.client(), randomUUID()];
    for (const kind of ['a', 'b', 'c', undefined])
      await client.threads.create({ metadata: kind ? { mark, kind } : { mark } });
    const ask = async (path: string, exclude: unknown): Promise<unknown> => {
      const body = JSON.stringify({ metadata: { mark }, exclude_metadata: exclude, sort_order: 'asc' });
      const headers = { 'content-type': 'application/json' };
      return (await fetch(`${server.url}/threads/${path}`, { method: 'POST', headers, body })).json();
    };
    const kinds = async (exclude: unknown): Promise<unknown[]> =>
      ((await ask('search', exclude)) as { metadata: { kind?: string } }[]).map(
        ({ metadata }) => metadata.kind,
      );
    expect(await kinds({ kind: 'a' })).toEqual(['b', 'c', undefined]);
    expect(await kinds([{ kind: 'a' }, { kind: 'c' }])).toEqual(['b', undefined]);
    expect(await ask('count', [{ kind: 'a' }, { kind: 'c' }])).toBe(2);
    expect(await ask('count', {})).toMatchObject({ detail: expect.anything() });
  });

  it('counts the bytes that the states of a thread take', async () => {
    const client = server.client();
    const { thread_id: id } = await client.threads.create();
    const storage = async (): Promise<unknown> => (await fetch(`${server.url}/threads/${id}/storage`)).json();
    const nothing = { count: 0, bytes: 0 };
    expect(await storage()).toEqual({
      thread_id: id,
      total_bytes: 0,
      checkpoints: nothing,
      channel_values: { ...nothing, by_channel: {} },
      pending_writes: nothing,
    });
    await client.runs.wait(id, 'chat', MESSAGES);
    const { total_bytes: total, ...parts } = (await storage()) as Record<string, never>;
    expect(parts).toMatchObject({
      checkpoints: { count: 3 },
      channel_values: { by_channel: { messages: { versions: expect.any(Number) } } },
    });
    const bytes = ['checkpoints', 'channel_values', 'pending_writes'].map(
      (name) => parts[name]?.['bytes'] ?? 0,
    );
    expect(bytes.every((one) => one > 0)).toBe(true);
    expect(total).toBe(bytes.reduce((sum, one) => sum + one, 0));
  });

  it('ends with the complete messages where values are asked for too', async () => {
    const events = await streamed(['messages', 'values']);
    expect(events.slice(-2).map(({ event }) => event)).toEqual(['values', 'messages/complete']);
  });
});
