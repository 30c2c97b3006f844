import { useStream } from '@langchain/react';
import { render } from 'ink-testing-library';
import { waitFor } from '#lib/testing';
import { testServer } from '../testdata/test-server.js';

const PATIENCE = { timeoutMs: 20_000 };

const server = testServer();

interface State extends Record<string, unknown> {
  readonly messages?: { readonly text: string }[];
  readonly steps?: string[];
  readonly said?: number;
}

type Stream = ReturnType<typeof useStream<State>>;

interface Asked {
  readonly assistantId: string;
  readonly transport: 'sse' | 'websocket';
  readonly threadId?: string | null;
}

/** A component that uses the hook, as a page would; `now` is what it was last rendered with. */
class Page {
  #stream: Stream | undefined;
  readonly unmount: () => void;
  threadId: string | undefined;

  constructor(asked: Asked) {
    const Shown = (): null => {
      this.#stream = useStream<State>({
        ...asked,
        apiUrl: server.url,
        onThreadId: (threadId) => (this.threadId = threadId),
      });
      return null;
    };
    this.unmount = render(<Shown />).unmount;
  }

  get now(): Stream {
    if (!this.#stream) throw new Error('nothing was rendered');
    return this.#stream;
  }

  until(isSo: (stream: Stream) => unknown): Promise<unknown> {
    return waitFor(() => isSo(this.now), PATIENCE);
  }
}

describe.each(['sse', 'websocket'] as const)('useStream of @langchain/react by %s', (transport) => {
  it('joins a run that another page began', async () => {
    const first = new Page({ assistantId: 'ticking', transport });
    void first.now.submit({ count: 30, waitMs: 100 });
    const threadId = await waitFor(() => first.threadId, PATIENCE);
    // the hook takes a thread without a next step for one that rests
    await waitFor(async () => (await server.client().threads.getState(threadId)).next.length > 0, PATIENCE);
    first.unmount();
    const second = new Page({ assistantId: 'ticking', transport, threadId });
    await second.until(({ values, isLoading }) => values.said === 30 && !isLoading);
    second.unmount();
  });
});

/** Tests by WebSocket only: the conformance suite has the same rows for server-sent events. */
describe('useStream of @langchain/react by WebSocket alone', () => {
  const transport = 'websocket';

  it('shows the messages of a run that it submits', async () => {
    const page = new Page({ assistantId: 'chat', transport });
    await page.now.submit({ messages: [{ type: 'human', content: 'hello' }] } as never);
    await page.until(({ messages, isLoading }) => messages.length === 2 && !isLoading);
    expect(page.now.messages.map(({ text }) => text)).toEqual(['hello', 'one two']);
    expect(page.now.error).toBeUndefined();
    page.unmount();
  });

  it('shows a question, and goes on with the answer', async () => {
    const page = new Page({ assistantId: 'asking', transport });
    await page.now.submit({ steps: [] });
    await page.until(({ interrupt, isLoading }) => interrupt && !isLoading);
    expect(page.now.interrupt?.value).toBe('what now?');
    await page.now.respond('on');
    await page.until(({ values, isLoading }) => values.steps?.[0] === 'answer on' && !isLoading);
    expect(page.now.interrupt).toBeUndefined();
    page.unmount();
  });

  it('stops its run at the server', async () => {
    const page = new Page({ assistantId: 'slow', transport });
    void page.now.submit({ steps: [], waitMs: 5_000 }).catch(() => undefined);
    const threadId = await waitFor(() => page.threadId, PATIENCE);
    const client = server.client();
    await waitFor(
      async () => (await client.runs.list(threadId)).some(({ status }) => status === 'running'),
      PATIENCE,
    );
    await page.until(({ isLoading }) => isLoading);
    await page.now.stop();
    await page.until(({ isLoading }) => !isLoading);
    const statuses = async (): Promise<string[]> =>
      (await client.runs.list(threadId)).map(({ status }) => status);
    await waitFor(async () => (await statuses())[0] === 'interrupted', PATIENCE);
    page.unmount();
  });
});
