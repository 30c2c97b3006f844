import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '#lib/testing';
import { repository } from '../support/platform.js';
import { sharedPlatform } from '../support/shared-platform.js';
import { agentplane, type Ending } from './agentplane.js';

/** A graph that answers by a structured response, without a text. */
const FORMED = `
import { Annotation, MessagesAnnotation, StateGraph } from '@langchain/langgraph';
const State = Annotation.Root({ ...MessagesAnnotation.spec, structuredResponse: Annotation });
export const graph = new StateGraph(State)
  .addNode('answer', () => ({ structuredResponse: { city: 'Rome' } }))
  .addEdge('__start__', 'answer').compile();
`;

/** A graph that takes no messages. */
const PLANNED = `
import { StateGraph } from '@langchain/langgraph';
import { z } from 'zod';
export const graph = new StateGraph(z.object({ topic: z.string(), plan: z.string().optional() }))
  .addNode('write', ({ topic }) => ({ plan: 'on ' + topic }))
  .addEdge('__start__', 'write').compile();
`;

/** A graph that answers what its server was sent as the key of the caller. */
const CURIOUS = `
import { AIMessage } from '@langchain/core/messages';
import { MessagesAnnotation, StateGraph } from '@langchain/langgraph';
export const graph = new StateGraph(MessagesAnnotation)
  .addNode('answer', (_state, { configurable }) => ({ messages: [new AIMessage(configurable['x-api-key'])] }))
  .addEdge('__start__', 'answer').compile();
`;

/** A person who talks with agents whose models answer by rules. */
describe('agentplane chat', () => {
  const platform = sharedPlatform();
  const folder = temporaryFolder();

  const attempt = (input: string, ...words: string[]): Promise<Ending> =>
    agentplane([...words, '--data', platform.dataFolder], { timeoutMs: 200_000, input });
  const chat = (input: string, ...words: string[]): Promise<Ending> => attempt(input, 'chat', ...words);

  beforeAll(async () => {
    cpSync(join(repository, 'examples', 'new-agent'), join(folder, 'talker'), { recursive: true });
    const settings = join(folder, 'talker', 'langgraph.json');
    const given = JSON.parse(readFileSync(settings, 'utf8')) as {
      graphs: Record<string, string>;
      http?: object;
    };
    given.http = { configurable_headers: { includes: ['x-api-key'] } };
    given.graphs['curious'] = './curious.mjs:graph';
    given.graphs['formed'] = './formed.mjs:graph';
    given.graphs['planned'] = './planned.mjs:graph';
    writeFileSync(settings, JSON.stringify(given));
    writeFileSync(join(folder, 'talker', 'formed.mjs'), FORMED);
    writeFileSync(join(folder, 'talker', 'planned.mjs'), PLANNED);
    writeFileSync(join(folder, 'talker', 'curious.mjs'), CURIOUS);
    await attempt('', 'image', 'add', 'talker', join(folder, 'talker'));
    const { code, complaint } = await attempt('', 'deploy', 'talker');
    if (code !== 0) throw new Error(complaint);
  });

  it('answers one message with its time, thread and trace', async () => {
    const { code, output, complaint } = await chat('', 'talker', '--once', 'hello');
    expect([code, output]).toEqual([0, 'You said: hello\n']);
    expect(complaint).toMatch(/^[\d.]+ m?s .*npx agentplane traces show \S+; thread \S+\n$/);
  });

  it('sends the agent a token that opens no other, and not the key of the workspace', async () => {
    const { code, output } = await chat('', 'talker', '--graph', 'curious', '--once', 'hello');
    expect([code, output]).toEqual([
      0,
      expect.stringMatching(/^aps_[0-9A-Za-z]{12}_\d+\.[\w-]+\.[\w-]{43}\n$/),
    ]);
    const { restUrl } = platform.credentials;
    const refused = await fetch(`${restUrl}/sessions`, { headers: { 'x-api-key': output.trim() } });
    expect(refused.status).toBe(403);
  });

  it('prints a structured response in place of a text', async () => {
    const { code, output } = await chat('', 'talker', '--graph', 'formed', '--once', 'where?');
    expect([code, output]).toEqual([0, '{\n  "city": "Rome"\n}\n']);
  });

  it('names the input of a graph that takes no messages, and sends one', async () => {
    for (const words of [[], ['--once', 'hello']]) {
      const { code, complaint } = await chat('', 'talker', '--graph', 'planned', ...words);
      expect([code, complaint]).toEqual([
        2,
        expect.stringMatching(
          /takes no messages: its input has the fields topic, plan; .*agentplane chat talker --graph planned --input '\{"topic":"\w+","plan":"\w+"\}'\n$/,
        ),
      ]);
    }
    const words = ['talker', '--graph', 'planned', '--input', '{"topic": "tea"}'];
    const { code, output } = await chat('', ...words);
    expect([code, JSON.parse(output)]).toEqual([0, { topic: 'tea', plan: 'on tea' }]);
  });

  it('continues a thread that waits for a decision', async () => {
    const asked = JSON.parse(
      (await chat('', 'talker', '--once', 'send "hi" to ann', '-o', 'json')).output,
    ) as {
      thread_id: string;
      trace_id: string;
    };
    expect(asked).toMatchObject({
      status: 'interrupted',
      interrupts: [{ value: { question: 'Send "hi" to ann?' } }],
    });
    const { output } = await chat('', 'talker', '--thread', asked.thread_id, '--once', 'yes');
    expect(output).toBe('Done: sent to ann.\n');
    const trace = await attempt('', 'traces', 'show', asked.trace_id, '--values');
    expect(trace.output).toContain('send_message');
  });

  it('converses until the input ends, folds calls of tools and asks what the agent asks', async () => {
    const lines = ['weather in Rome', 'send "hi" to bob', 'no', '/new', 'bye'];
    const { code, output, complaint } = await chat(`${lines.join('\n')}\n`, 'talker');
    expect(code).toBe(0);
    expect(output.replaceAll(/^— .*$/gm, '—')).toBe(
      [
        '· get_weather {"city":"Rome"}',
        '  → sunny in Rome',
        'Done: sunny in Rome.',
        '—',
        '· send_message {"text":"hi","to":"bob"}',
        '—',
        'Send "hi" to bob?',
        '  → not sent: no',
        'Done: not sent: no.',
        '—',
        'You said: bye',
        '—',
        '',
      ].join('\n'),
    );
    expect(complaint.match(/thread \S+/g)).toHaveLength(2);
  });

  it('lists and shows threads, runs and traces with what was said', async () => {
    const threads = await attempt('', 'threads', 'list', 'talker');
    expect(threads.output).toMatch(/^AGE +STATUS +INPUT +ANSWER +THREAD$/m);
    const [, thread = ''] = /bob.*not sent: no\. +(\S+)$/m.exec(threads.output) ?? [];
    const shown = await attempt('', 'threads', 'show', 'talker', thread);
    expect(shown.output).toMatch(
      /^human weather in Rome\nai {4}· get_weather .*\ntool {2}sunny in Rome\nai /,
    );
    const runs = await attempt('', 'runs', 'list', 'talker', '--thread', thread, '-o', 'name');
    expect(runs.output.trim().split('\n')).toHaveLength(3);
    const traces = await attempt('', 'traces', 'list', '--thread', thread, '--search', 'Rome');
    expect(traces.output).toMatch(/^\S+ +success +weather in Rome +Done: sunny in Rome\. +talker .*/m);
    expect(traces.output).not.toContain('bye');
  });

  it.each([
    ['no agent', [], 2, /name a deployment/],
    ['a deployment that does not exist', ['nope', '--once', 'a'], 3, /nope does not exist/],
    ['a thread that is none', ['talker', '--thread', 'x', '--once', 'a'], 2, /"agentplane threads list"/],
    ['an output of a whole conversation', ['talker', '-o', 'json'], 2, /--once/],
    ['an input that is no object', ['talker', '--input', '[1]'], 2, /JSON object/],
    ['a message and an input', ['talker', '--once', 'a', '--input', '{}'], 2, /--once and --input/],
  ])('refuses %s', async (_what, words, code, message) => {
    const ending = await chat('', ...words);
    expect([ending.code, ending.complaint]).toEqual([code, expect.stringMatching(message)]);
  });
});
