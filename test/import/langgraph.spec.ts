import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client, type ThreadState } from '@langchain/langgraph-sdk';
import { temporaryFolder } from '#lib/testing';
import { agentplane, agentplaneProcess } from '../cli/agentplane.js';
import { repository } from '../support/platform.js';
import { Rest } from '../support/rest.js';
import { sharedPlatform } from '../support/shared-platform.js';
import { proxyOf, type SourceProxy } from './source-proxy.js';

const THREADS = 12;

interface Values {
  readonly messages: readonly { readonly id: string; readonly content: string }[];
}

/** The agent server of another workspace is the source; `threads.long.ts` has one of LangGraph's. */
describe('agentplane import langgraph', () => {
  const source = sharedPlatform();
  const target = sharedPlatform();
  const folder = temporaryFolder();
  let proxy: SourceProxy;
  let before: (path: string) => void = () => undefined;
  let there: Client;
  let here: Client;
  let waiting = '';

  /** Deploys the agent of the starter folder. */
  async function deploy({ dataFolder, credentials }: typeof source): Promise<string> {
    const { code, complaint } = await agentplane(['deploy', 'mover', '--data', dataFolder]);
    if (code !== 0) throw new Error(complaint);
    const { body } = await new Rest(credentials).get<{ resources: readonly { url: string }[] }>(
      '/v2/deployments?name=mover',
    );
    return body.resources[0]?.url ?? '';
  }
  const say = (content: string): { input: Record<string, unknown> } => ({
    input: { messages: [{ role: 'human', content }] },
  });

  beforeAll(async () => {
    cpSync(join(repository, 'examples', 'new-agent'), join(folder, 'mover'), { recursive: true });
    await agentplane(['image', 'add', 'mover', join(folder, 'mover'), '--data', source.dataFolder]);
    const from = await deploy(source);
    there = new Client({ apiUrl: from, apiKey: source.credentials.apiKey });
    here = new Client({ apiUrl: await deploy(target), apiKey: target.credentials.apiKey });
    proxy = await proxyOf(from, (path) => {
      before(path);
      return undefined;
    });

    for (let at = 0; at < THREADS; at++) {
      const { thread_id: id } = await there.threads.create({ metadata: { number: at } });
      for (const content of ['hello', `number ${at}`]) await there.runs.wait(id, 'agent', say(content));
    }
    ({ thread_id: waiting } = await there.threads.create());
    await there.runs.wait(waiting, 'agent', say('send "hi" to ann'));
    await there.assistants.create({ graphId: 'agent', name: 'polite', metadata: { of: 'us' } });
    await there.crons.create('agent', { schedule: '0 8 * * *', ...say('good morning') });
    for (const name of ['ann', 'bob']) await there.store.putItem(['people', name], 'colour', { is: 'blue' });
  });
  afterAll(() => proxy?.close());

  const words = (...more: string[]): string[] => [
    ...['import', 'langgraph', '--from', proxy.url, '--api-key-env', 'SOURCE_KEY', '--to', 'mover'],
    ...['--data', target.dataFolder, '-o', 'json', ...more],
  ];
  const environment = (): Record<string, string> => ({
    XDG_CONFIG_HOME: folder,
    SOURCE_KEY: source.credentials.apiKey,
  });

  async function run(...more: string[]): Promise<{ complaint: string; counts: Record<string, unknown> }> {
    const ending = await agentplaneProcess(words(...more), { environment: environment() });
    expect(ending.complaint).not.toContain(source.credentials.apiKey);
    expect([ending.code, ending.complaint]).toEqual([0, expect.not.stringContaining('newest state alone')]);
    const rows = JSON.parse(ending.output) as readonly Record<string, unknown>[];
    return {
      complaint: ending.complaint,
      counts: Object.fromEntries(
        rows.map(({ kind, read, written, refused, there: found }) => [kind, [read, written, refused, found]]),
      ),
    };
  }

  /** Everything about a server's threads that an import keeps. */
  async function historiesOf(client: Client): Promise<object> {
    const threads = await client.threads.search({ limit: 100, sortBy: 'thread_id' });
    const told = ({ values, next }: ThreadState<Values>) => ({ values, next });
    const all = threads.map(async ({ thread_id: id, metadata }) => {
      const states = await client.threads.getHistory<Values>(id, { limit: 100 });
      return [id, { number: metadata?.['number'], states: states.map(told) }] as const;
    });
    return Object.fromEntries(await Promise.all(all));
  }

  it('counts and writes nothing in a dry run', async () => {
    const { counts } = await run('--dry-run');
    expect(counts).toMatchObject({
      assistants: [1, 0, 0, null],
      threads: [THREADS + 1, 0, 0, null],
      crons: [1, 0, 0, null],
      'store items': [2, 0, 0, null],
    });
    expect(await here.threads.search()).toEqual([]);
  });

  it('continues after it was killed, and doubles nothing', async () => {
    const child = spawn(process.execPath, [join(repository, 'bin', 'agentplane.js'), ...words()], {
      env: { ...process.env, ...environment() },
      stdio: 'ignore',
      detached: true,
    });
    let pages = 0;
    before = (path) => {
      if (path === 'POST /threads/search' && ++pages === 3) process.kill(-(child.pid ?? 0), 'SIGKILL');
    };
    await once(child, 'exit');
    before = () => undefined;
    expect(pages).toBe(3);
    expect((await here.threads.search({ limit: 100 })).length).toBe(10);

    const { complaint, counts } = await run();
    expect(complaint).toContain('Continues an import that was interrupted.');
    const all = THREADS + 1;
    expect(counts).toMatchObject({ threads: [all, all, 0, all], 'store items': [2, 2, 0, null] });
    expect(await historiesOf(here)).toEqual(await historiesOf(there));
    expect(await here.assistants.search({ metadata: { of: 'us' } })).toMatchObject([{ name: 'polite' }]);
    expect(await here.crons.search()).toMatchObject([{ schedule: '0 8 * * *' }]);
    expect((await here.store.getItem(['people', 'bob'], 'colour'))?.value).toEqual({ is: 'blue' });
  });

  it('has threads that continue, and one that asks again', async () => {
    const [one] = await here.threads.search({ metadata: { number: 7 } });
    await here.runs.wait(one?.thread_id ?? '', 'agent', say('and now'));
    const { values } = await here.threads.getState<Values>(one?.thread_id ?? '');
    expect(values.messages.map(({ content }) => content)).toEqual([
      ...['hello', 'You said: hello', 'number 7', 'You said: number 7', 'and now', 'You said: and now'],
    ]);
    await here.runs.wait(waiting, 'agent', { input: null });
    await here.runs.wait(waiting, 'agent', { command: { resume: 'yes' } });
    const answered = await here.threads.getState<Values>(waiting);
    expect(answered.values.messages.at(-1)?.content).toBe('Done: sent to ann.');
  });

  it('changes nothing when it runs again', async () => {
    const earlier = await historiesOf(here);
    await run();
    expect(await historiesOf(here)).toEqual(earlier);
    expect(await here.crons.search()).toHaveLength(1);
  });

  it('names what is missing', async () => {
    const { code, complaint } = await agentplaneProcess(
      words().filter((word) => word !== '--to' && word !== 'mover'),
      { environment: environment() },
    );
    expect([code, complaint]).toEqual([2, expect.stringContaining('import langgraph needs --to')]);
  });
});
