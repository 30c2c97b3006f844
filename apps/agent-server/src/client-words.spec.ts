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

  it('ends with the complete messages where values are asked for too', async () => {
    const events = await streamed(['messages', 'values']);
    expect(events.slice(-2).map(({ event }) => event)).toEqual(['values', 'messages/complete']);
  });
});
