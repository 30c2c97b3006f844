import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { temporaryFolder } from '#lib/testing';
import { agentplane } from '../cli/agentplane.js';
import { repository } from '../support/platform.js';
import { Rest } from '../support/rest.js';
import { sharedPlatform } from '../support/shared-platform.js';
import { langfuseAnswer } from './recorded/langfuse.js';
import { openAiAnswer } from './recorded/openai-evals.js';

type Row = Readonly<Record<'kind' | 'name' | 'read' | 'written' | 'refused' | 'there' | 'note', unknown>>;
type Found = Readonly<Record<string, unknown>>;

/** Answers in the shapes of the vendors' own clients: none of these products installs from a registry. */
describe.each([
  {
    product: 'langfuse',
    answer: langfuseAnswer,
    keys: { LANGFUSE_PUBLIC_KEY: 'pk', LANGFUSE_SECRET_KEY: 'sk' } as Readonly<Record<string, string>>,
    authorization: `Basic ${Buffer.from('pk:sk').toString('base64')}`,
    // observations, behind the first of which the import is killed
    page: '/api/public/v2/observations?cursor=two',
    moved: [
      ['examples', 2, 2, 2],
      ['runs', 3, 3, 3],
      // statistics, which say what is there, count no corrections and no empty scores
      ['feedback', 6, 6, 4],
      ['prompts', 3, 0, null],
      ['scores of sessions and experiments', 1, 0, null],
    ],
    found: {
      projects: [{ name: 'shop' }],
      runs: [
        {
          name: 'support',
          run_type: 'chain',
          total_tokens: 14,
          tags: ['vip'],
          inputs: { question: 'why?' },
          outputs: { output: 'because' },
          extra: {
            metadata: {
              long: 'm'.repeat(300),
              session_id: 'talk',
              user_id: 'ann',
              environment: 'production',
            },
          },
        },
        {
          name: 'answer',
          run_type: 'llm',
          prompt_tokens: 10,
          completion_tokens: 4,
          first_token_time: expect.stringContaining('00:00:01.25'),
          total_cost: expect.anything(),
          extra: { metadata: { ls_model_name: 'gpt', promptName: 'greeting', promptVersion: 2 } },
        },
        { name: 'search', run_type: 'tool', error: expect.stringContaining('no route'), status: 'error' },
      ],
      feedback: [
        { key: 'fixed', correction: { output: 'why not' } },
        { key: 'grade', score: null, value: 'high' },
        { key: 'helpful', score: 0.5, comment: 'fine', feedback_source: { type: 'app' } },
        { key: 'kind', score: 1 },
        { key: 'later', score: null },
        { key: 'tone', value: 'calm' },
      ],
      datasets: [{ name: 'questions', description: 'ours' }],
      examples: [
        { inputs: { input: 'plain' }, outputs: null, metadata: { a: 1 } },
        { inputs: { q: 1 }, outputs: { output: 'yes' } },
      ],
    },
  },
  {
    product: 'openai-evals',
    answer: openAiAnswer,
    keys: { OPENAI_API_KEY: 'sk' },
    authorization: 'Bearer sk',
    page: '/evals/eval_1/runs/evalrun_1/output_items?after=item_1',
    moved: [
      ['examples', 3, 3, 2],
      ['runs', 2, 2, 2],
      ['feedback', 2, 2, 2],
      ['runs', 1, 1, 1],
      ['feedback', 1, 1, 1],
    ],
    found: {
      projects: [{ name: 'trial (evalrun_1)' }, { name: 'trial (evalrun_2)' }],
      runs: [
        { name: 'gpt', error: 'the model failed', inputs: { messages: [{ content: 'mouse' }] } },
        { name: 'gpt', run_type: 'llm', error: null, total_tokens: 9 },
        { name: 'gpt', outputs: { messages: [{ content: 'hardware' }] } },
      ],
      feedback: [
        { key: 'label', score: 0, value: 'failed' },
        { key: 'label', score: 1, value: 'passed' },
        { key: 'label', score: 1, value: 'passed' },
      ],
      datasets: [{ name: 'tickets' }],
      examples: [{ inputs: { question: 'mouse' } }, { inputs: { question: 'screen' } }],
    },
  },
])('agentplane import $product', ({ product, answer, keys, authorization, page, moved, found }) => {
  const target = sharedPlatform();
  const folder = temporaryFolder();
  let kill: (() => void) | undefined;
  const seen = new Set<unknown>();
  const server = createServer((request, response) => {
    seen.add(request.headers.authorization);
    const url = new URL(request.url ?? '', 'http://source');
    const [path = '', name = ''] = page.split(/[?=]/);
    if (url.pathname === path && url.searchParams.has(name) && kill) return kill();
    const body = answer(url.pathname, url.searchParams);
    response.writeHead(body === undefined ? 404 : 200, { 'content-type': 'application/json' });
    return response.end(JSON.stringify(body ?? { message: 'not found' }));
  });
  let rest: Rest;
  let words: readonly string[];
  let environment: Record<string, string>;

  beforeAll(async () => {
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const from = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    rest = new Rest(target.credentials);
    words = ['import', product, '--from', from, '--data', target.dataFolder, '-o', 'json'];
    environment = { XDG_CONFIG_HOME: folder, ...keys };
  });
  afterAll(() => void server.close().closeAllConnections());

  async function contents(): Promise<Readonly<Record<string, readonly Found[]>>> {
    const sorted = (list: readonly Found[], by: (one: Found) => string): readonly Found[] =>
      list.toSorted((one, other) => by(one).localeCompare(by(other)));
    const { body: projects } = await rest.get<readonly Found[]>('/sessions');
    const session = projects.map(({ id }) => id);
    const { body } = await rest.post<{ runs: readonly Found[] }>('/runs/query', { session, order: 'asc' });
    const feedback = await rest.get<readonly Found[]>('/feedback?limit=100');
    const datasets = await rest.get<readonly Found[]>('/datasets');
    const examples = await rest.get<readonly Found[]>(
      `/examples?dataset=${String(datasets.body[0]?.['id'])}`,
    );
    return {
      projects: sorted(projects, ({ name }) => String(name)),
      runs: sorted(body.runs, ({ start_time, inputs }) => `${String(start_time)} ${JSON.stringify(inputs)}`),
      feedback: sorted(feedback.body, ({ key, score }) => `${String(key)} ${String(score)}`),
      datasets: datasets.body,
      examples: sorted(examples.body, ({ inputs }) => JSON.stringify(inputs)),
    };
  }

  it('continues after it was killed, keeps what it read, and doubles nothing', async () => {
    const child = spawn(process.execPath, [`${repository}/bin/agentplane.js`, ...words], {
      env: { ...process.env, ...environment },
      stdio: 'ignore',
    });
    kill = () => child.kill('SIGKILL');
    await once(child, 'exit');
    kill = undefined;
    const ending = await agentplane(words, { environment });
    expect([ending.code, ending.complaint]).toEqual([0, expect.stringContaining('Continues an import')]);
    expect([...seen]).toEqual([authorization]);
    const rows = JSON.parse(ending.output) as readonly Row[];
    expect(rows.map(({ kind, read, written, there }) => [kind, read, written, there])).toEqual(moved);
    const first = await contents();
    expect(first).toMatchObject(found);
    expect(await agentplane(words, { environment })).toMatchObject({ code: 0 });
    expect(await contents()).toEqual(first);
  });
});
