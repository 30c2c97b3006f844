import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from '@langchain/langgraph-sdk';
import { parseExactJson } from '#lib/json';
import { RestClient } from '#lib/rest-client';
import { testServer } from '../../apps/agent-server/testdata/test-server.js';
import { agentParts } from '../../apps/cli/src/import/sources/agent-server.js';
import { type PythonServer, startPythonServer } from './python-server.js';

const AGENT = join(import.meta.dirname, 'agent');
const python = process.env['AGENTPLANE_TEST_PYTHON'] ?? '';

interface Values {
  readonly messages: readonly { readonly id: string; readonly content: string }[];
  readonly steps: number;
}

describe('threads of langgraph dev', () => {
  const folder = mkdtempSync(join(tmpdir(), 'agentplane-dev-'));
  const server = testServer({ folder: AGENT, env: { AGENTPLANE_PYTHON: python } });
  let dev: PythonServer;

  beforeAll(async () => {
    cpSync(AGENT, folder, { recursive: true });
    dev = await startPythonServer({
      name: 'langgraph',
      words: (bin, port) => [
        ...[join(bin, 'python'), join(bin, 'langgraph'), 'dev', '--no-browser', '--no-reload'],
        ...['--port', String(port)],
      ],
      cwd: folder,
      environment: () => ({ LANGSMITH_TRACING: 'false' }),
      ready: '/ok',
    });
  });
  afterAll(() => {
    dev?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** @returns how many of each kind were read and refused */
  async function move(): Promise<readonly object[]> {
    const [from, to] = [dev, server].map(({ url }) => new RestClient({ url }, { parse: parseExactJson }));
    if (!from || !to) throw new Error('both servers run');
    const moved: object[] = [];
    for (const part of agentParts({ from, to }))
      for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
        const page = await part.read(cursor);
        moved.push({ ...page.counts, refused: Object.values(await page.write())[0] });
        cursor = page.next;
      }
    return moved;
  }

  const say = (content: string) => ({ input: { messages: [{ role: 'human', content }], steps: 0 } });

  it('continue here with their history', async () => {
    const there = new Client({ apiUrl: dev.url });
    const here = server.client();
    const made = await there.assistants.create({ graphId: 'thinker', name: 'mine', metadata: { of: 'us' } });
    const { thread_id: id } = await there.threads.create({ metadata: { owner: 'a' } });
    for (const content of ['one', 'two']) await there.runs.wait(id, 'thinker', say(content));
    const { thread_id: waiting } = await there.threads.create();
    await there.runs.wait(waiting, 'thinker', say('ask'));
    await there.store.putItem(['people', 'a'], 'colour', { is: 'blue' });

    const moved = await move();
    expect(moved).toEqual(
      expect.arrayContaining([
        { assistants: 1, refused: 0 },
        { threads: 2, checkpoints: 11, refused: 0 },
        { 'store items': 1, refused: 0 },
      ]),
    );
    const before = await there.threads.getHistory<Values>(id);
    const after = await here.threads.getHistory<Values>(id);
    const told = (states: typeof before) =>
      states.map(({ values, next, metadata }) => ({ values, next, source: metadata?.['source'] }));
    expect(after.map(({ values, next }) => ({ values, next }))).toEqual(
      before.map(({ values, next }) => ({ values, next })),
    );
    expect(told(after).map(({ values }) => values.messages?.map(({ id: one }) => one))).toEqual(
      told(before).map(({ values }) => values.messages?.map(({ id: one }) => one)),
    );
    expect(await here.assistants.get(made.assistant_id)).toMatchObject({
      name: 'mine',
      metadata: { of: 'us' },
    });
    expect((await here.store.getItem(['people', 'a'], 'colour'))?.value).toEqual({ is: 'blue' });

    await here.runs.wait(id, 'thinker', say('three'));
    const { values } = await here.threads.getState<Values>(id);
    expect(values.messages.map(({ content }) => content)).toEqual([
      ...['one', 'thinking about one', 'answer 1: yes', 'two', 'thinking about two', 'answer 3: yes'],
      ...['three', 'thinking about three', 'answer 5: yes'],
    ]);
    // a thread that waited is before the node that asks, which asks again
    expect((await here.threads.getState(waiting)).next).toEqual(['answer']);
    await here.runs.wait(waiting, 'thinker', { input: null });
    await here.runs.wait(waiting, 'thinker', { command: { resume: 'sure' } });
    const answered = (await here.threads.getState<Values>(waiting)).values.messages.at(-1);
    expect(answered?.content).toBe('answer 1: sure');

    const again = await move();
    expect(again).toEqual(moved);
    expect((await here.threads.search({ limit: 100 })).map(({ thread_id: one }) => one).sort()).toEqual(
      [id, waiting].sort(),
    );
    expect((await here.threads.getState<Values>(id)).values.messages).toHaveLength(9);
  });
});
