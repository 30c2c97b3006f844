import { cpSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '#lib/testing';
import { repository } from '../support/platform.js';
import { agentplane } from './agentplane.js';

const AGENTS = join(repository, 'test', 'templates', 'agents');

/** A person who tries a folder before anything is uploaded. */
describe('agentplane check', () => {
  const root = temporaryFolder();

  const check = (folder: string, ...words: string[]) =>
    agentplane(['check', folder, ...words], { timeoutMs: 300_000, environment: { TAVILY_API_KEY: '' } });

  /** A folder with one graph, whose source has these lines. */
  function agentOf(name: string, source: readonly string[], graph = 'graph'): string {
    const folder = join(root, name);
    mkdirSync(folder);
    writeFileSync(join(folder, 'langgraph.json'), `{"graphs": {"agent": "./graph.mjs:${graph}"}}`);
    writeFileSync(join(folder, 'graph.mjs'), source.join('\n'));
    return folder;
  }

  it('draws each graph, shows its input, and runs it', async () => {
    const folder = join(root, 'asking');
    cpSync(join(AGENTS, 'js-no-lock'), folder, { recursive: true });
    writeFileSync(join(folder, 'tools.mjs'), 'export const key = process.env.TAVILY_API_KEY;\n');
    const { code, output, complaint } = await check(folder);
    expect([code, complaint.match(/^(Missing keys|@langchain).*$/gm)]).toEqual([
      0,
      [
        expect.stringMatching(/^@langchain\/langgraph 1\.\d+\.\d+ \(tried: 0\.2\.5 to /),
        'Missing keys, made up for this check: TAVILY_API_KEY (tools.mjs)',
      ],
    ]);
    expect(output).toMatch(/^GRAPH +NODES +INPUT +RUN\nagent +ask +question, answer +asks a person\n$/);
  });

  it('prints the same as JSON, and ends with 1 when a run fails', async () => {
    const folder = agentOf('failing', [
      "import { MessagesAnnotation, StateGraph } from '@langchain/langgraph';",
      'export const graph = new StateGraph(MessagesAnnotation)',
      "  .addNode('fail', () => { throw new Error('no such place'); })",
      "  .addEdge('__start__', 'fail').compile();",
    ]);
    const ended = await check(folder, '-o', 'json');
    expect(ended.code).toBe(1);
    const [graph] = JSON.parse(ended.output) as unknown[];
    expect(graph).toMatchObject({
      graph: 'agent',
      input: ['messages'],
      run: 'Error: no such place',
      succeeds: false,
    });
  });

  it('runs the code below folders that no other user writes', async () => {
    const folder = agentOf('placed', [
      "import { MessagesAnnotation, StateGraph } from '@langchain/langgraph';",
      "const place = import.meta.dirname.replaceAll('/', '~');",
      'export const graph = new StateGraph(MessagesAnnotation)',
      "  .addNode(place, () => ({ messages: [] })).addEdge('__start__', place).compile();",
    ]);
    const { output } = await check(folder, '-o', 'json');
    const [{ nodes }] = JSON.parse(output) as [{ nodes: string[] }];
    const parts = nodes.find((name) => name.startsWith('~'))?.split('~') ?? [];
    expect(parts.length).toBeGreaterThan(3);
    const above = parts.map((_, at) => `/${parts.slice(1, at + 1).join('/')}`);
    expect(
      above.filter((path) => ((statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o002) !== 0),
    ).toEqual([]);
  });

  it('gives a graph the context that it asks for', async () => {
    const folder = agentOf('context', [
      "import { MessagesAnnotation, StateGraph } from '@langchain/langgraph';",
      "import { z } from 'zod';",
      'const context = z.object({ userId: z.string() });',
      'const greet = (_state, { context }) => ({ messages: [{ role: "ai", content: context.userId.trim() }] });',
      'export const graph = new StateGraph(MessagesAnnotation, context)',
      "  .addNode('greet', greet).addEdge('__start__', 'greet').compile();",
    ]);
    const { code, output } = await check(folder);
    expect([code, output]).toEqual([0, expect.stringMatching(/\nagent +greet +messages +answers\n$/)]);
  });

  it('says why a graph does not load, not only that the server stops', async () => {
    const folder = agentOf('throwing', [
      'export const graph = 1;',
      "throw new Error('the index cannot be read');",
    ]);
    const { code, complaint } = await check(folder);
    expect([code, complaint]).toEqual([
      1,
      expect.stringMatching(/failed: graph "agent" .*the index cannot be read/),
    ]);
  });

  it('says why a folder does not load', async () => {
    const folder = agentOf('broken', ['export const graph = 1;'], 'other');
    const { code, complaint } = await check(folder);
    expect([code, complaint]).toEqual([1, expect.stringMatching(/checking .*has no export "other"/s)]);
  });
});
