import { isDeepStrictEqual } from 'node:util';
import { randomUUID } from 'node:crypto';
import { useStream as useThreadStream } from '@langchain/react';
import { useStream } from '@langchain/langgraph-sdk/react';
import { useStream as useOtherStream } from 'langgraph-sdk-2/react';
import { useStream as useEarlierStream } from 'langgraph-sdk-earlier/react';
import { sdkClient } from '../clients/sdk-client.js';
import { renderHook, type RenderedHook } from '../clients/render-hook.js';
import { type Row, rowsOf, type Target } from '../target.js';

interface Message {
  readonly content: unknown;
}

/** What the hooks of all packages have; the newest calls the answer to a question `respond`. */
interface Stream {
  readonly messages: readonly Message[];
  readonly values: Readonly<Record<string, unknown>>;
  readonly interrupt: { readonly value?: unknown } | undefined;
  readonly isLoading: boolean;
  readonly error: unknown;
  submit(input: unknown, options?: object): unknown;
  stop(): unknown;
  respond?(answer: unknown): unknown;
}

interface HookOptions {
  readonly apiUrl: string;
  readonly assistantId: string;
  readonly defaultHeaders: Record<string, string>;
  readonly threadId?: string;
  readonly onCreated?: () => void;
}

const HOOKS: Readonly<Record<string, (options: HookOptions) => Stream>> = {
  'useStream of @langchain/react': useThreadStream,
  'useStream of the JavaScript SDK 1.15': useStream,
  'useStream of the JavaScript SDK 1.14': useEarlierStream,
  'useStream of the JavaScript SDK 2.0': useOtherStream,
};

const says = (content: string) => ({ messages: [{ type: 'human', content }] });
/** Newer engines make messages of blocks. */
const texts = ({ messages }: Stream): string[] =>
  messages.map(({ content }) =>
    typeof content === 'string'
      ? content
      : (content as { text?: string }[]).map(({ text }) => text ?? '').join(''),
  );
const rests = ({ isLoading }: Stream): boolean => !isLoading;

type Render = (assistantId: string, more?: Partial<HookOptions>) => RenderedHook<Stream>;

const CHECKS: Readonly<Record<string, (render: Render, target: Target) => Promise<void>>> = {
  'shows the messages of a conversation as they grow': async (render) => {
    const hook = render('echo');
    // its answer takes a second: one that is over at once may be shown whole alone
    const long = 'hello'.repeat(50);
    hook.current.submit(says(long));
    await hook.until((stream) => rests(stream) && texts(stream).at(-1) === `1: ${long}`, 'the first answer');
    hook.current.submit(says('again'));
    await hook.until((stream) => rests(stream) && texts(stream).at(-1) === '3: again', 'the second answer');
    expect(texts(hook.current)).toEqual([long, `1: ${long}`, 'again', '3: again']);
    const partial = hook.seen.map((stream) => texts(stream)[1]).filter((text) => text !== undefined);
    expect(new Set(partial).size).toBeGreaterThan(1);
    expect(hook.current.error).toBeFalsy();
  },
  'shows the values of the state': async (render) => {
    const hook = render('slow');
    hook.current.submit({ waitMs: 1 });
    // the state of the thread may come, and the hook rest, before the last values of the stream
    const steps = ['first', 'second', 'third'];
    await hook.until((stream) => rests(stream) && isDeepStrictEqual(stream.values['steps'], steps), 'values');
  },
  'shows the question of a run and goes on with the answer': async (render) => {
    const hook = render('asking');
    hook.current.submit(says('paint it'));
    await hook.until((stream) => rests(stream) && stream.interrupt !== undefined, 'the question');
    expect(hook.current.interrupt).toMatchObject({ value: 'Which colour?' });
    const { respond } = hook.current;
    if (respond) await respond('red');
    else hook.current.submit(undefined, { command: { resume: 'red' } });
    const isAnswered = (stream: typeof hook.current): boolean =>
      rests(stream) && texts(stream).at(-1) === 'painted red';
    // the hook drops the question with the state that it reads after the run
    await hook.until((stream) => isAnswered(stream) && stream.interrupt === undefined, 'the answer');
  },
  'shows the error of a run that fails': async (render) => {
    const hook = render('failing');
    // the newest hook rejects as well
    await Promise.resolve(hook.current.submit(says('hello'))).catch(() => undefined);
    await hook.until(({ error }) => Boolean(error), 'the error');
    expect(String(hook.current.error)).toContain('the node gave up');
  },
  'shows the state of a thread that exists': async (render, target) => {
    const client = sdkClient(target);
    const { thread_id: threadId } = await client.threads.create();
    await client.runs.wait(threadId, 'echo', { input: says('earlier') });
    const hook = render('echo', { threadId });
    await hook.until((stream) => texts(stream).length === 2, 'the state');
    expect(texts(hook.current)).toEqual(['earlier', '1: earlier']);
  },
  'stops a run': async (render, target) => {
    const threadId = randomUUID();
    await sdkClient(target).threads.create({ threadId });
    let isCreated = false;
    const hook = render('slow', { threadId, onCreated: () => (isCreated = true) });
    hook.current.submit({ waitMs: 60_000 });
    const runs = () => sdkClient(target).runs.list(threadId);
    await hook.until(() => isCreated, 'the run');
    await hook.current.stop();
    await hook.until(rests, 'the end');
    await hook.until(async () => (await runs())[0]?.status === 'interrupted', 'the end of the run');
  },
};

export const REACT_ROWS: readonly Row[] = Object.entries(HOOKS).flatMap(([client, hook]) =>
  rowsOf(
    client,
    Object.fromEntries(
      Object.entries(CHECKS).map(([name, check]) => [
        name,
        async (target: Target) => {
          const rendered: RenderedHook<Stream>[] = [];
          const render: Render = (assistantId, more = {}) => {
            const options = {
              apiUrl: target.url,
              assistantId,
              defaultHeaders: { ...target.headers },
              ...more,
            };
            const one = renderHook(() => hook(options));
            rendered.push(one);
            return one;
          };
          try {
            await check(render, target);
          } finally {
            for (const one of rendered) one.unmount();
          }
        },
      ]),
    ),
  ),
);
