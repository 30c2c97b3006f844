import { connect } from 'node:net';
import { waitFor } from '#lib/testing';
import { testServer } from '../testdata/test-server.js';

const READERS = 12;
const server = testServer({
  env: { AGENTPLANE_UNREAD_MB: '2' },
});

async function json(path: string, body?: unknown): Promise<Record<string, unknown>> {
  const response = await fetch(`${server.url}${path}`, {
    ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    headers: { 'content-type': 'application/json' },
  });
  return (await response.json()) as Record<string, unknown>;
}

describe('the agent server', () => {
  it('cuts readers that take nothing before they fill its memory, and finishes their runs', async () => {
    const threads: string[] = [];
    for (let n = 0; n < READERS; n++) threads.push(String((await json('/threads', {})).thread_id));
    const body = JSON.stringify({
      assistant_id: 'slow',
      input: { steps: ['x'.repeat(1_000_000)], waitMs: 1 },
      stream_mode: ['values', 'updates', 'debug', 'events'],
    });
    const readers = threads.map((id) => {
      const reader = connect(server.port, '127.0.0.1').pause();
      reader.on('error', () => undefined);
      reader.write(
        `POST /threads/${id}/runs/stream HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n` +
          `content-length: ${body.length}\r\n\r\n${body}`,
      );
      return reader;
    });
    const cuts = (): number => server.log.filter(({ msg }) => msg === 'slow client cut').length;
    await waitFor(() => cuts() >= READERS / 2);
    for (const id of threads) {
      await waitFor(async () => (await json(`/threads/${id}`)).status === 'idle');
      const { values } = (await json(`/threads/${id}/state`)) as { values: { steps: string[] } };
      expect(values.steps.slice(1)).toEqual(['first', 'second', 'third']);
    }
    for (const reader of readers) reader.destroy();
  });
});
