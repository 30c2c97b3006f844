import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '#lib/testing';
import { checkGraphs } from './check-graphs.js';

let made = 0;
const root = temporaryFolder();

function agent(graph: string, files: Readonly<Record<string, string>>): string {
  const folder = join(root, `agent-${made++}`);
  for (const [name, text] of Object.entries({
    'langgraph.json': JSON.stringify({ graphs: { agent: graph } }),
    ...files,
  })) {
    mkdirSync(join(folder, name, '..'), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

describe('the check of graphs', () => {
  it.each<[string, string, Record<string, string>, RegExp]>([
    [
      'an export that does not exist',
      './src/agent.ts:graph',
      { 'src/agent.ts': 'export const agent = 1; export default 2;' },
      /graph "agent": \.\/src\/agent\.ts has no export "graph", it exports agent, default; export the graph/,
    ],
    [
      'a type in the place of a graph',
      './agent.ts:graph',
      { 'agent.ts': 'export type graph = string;' },
      /has no export "graph", it exports nothing/,
    ],
    [
      'a file that does not compile',
      './agent.ts:graph',
      { 'agent.ts': "import './more';\nexport const graph = 1;", 'more.ts': 'const a = (;' },
      /does not compile: more\.ts:1:12: Unexpected ";"/,
    ],
    [
      'an import of a file that does not exist',
      './agent.ts:graph',
      { 'agent.ts': "import './tools';\nexport const graph = 1;" },
      /does not compile: agent\.ts:1:8: Could not resolve "\.\/tools"/,
    ],
    [
      'a file outside the folder',
      '../outside.ts:graph',
      {},
      /\.\.\/outside\.ts lies outside the folder.*move the file into it/,
    ],
  ])('refuses %s', async (_name, graph, files, message) => {
    writeFileSync(join(root, 'outside.ts'), 'export const graph = 1;');
    await expect(checkGraphs(agent(graph, files))).rejects.toThrow(message);
  });

  it.each<[string, string, Record<string, string>]>([
    [
      'by an export of another file',
      './a.ts:graph',
      { 'a.ts': "export * from './b.ts';", 'b.ts': 'export const graph = 1;' },
    ],
    ['where a package may export them', './a.ts:graph', { 'a.ts': "export * from 'package';" }],
    ['from CommonJS', './a.cjs:graph', { 'a.cjs': 'exports.graph = 1;' }],
    ['as the default export', 'a.tsx', { 'a.tsx': 'export default <a />;' }],
    [
      'beside files that are no code',
      './a.ts:graph',
      { 'a.ts': "import './a.md';\nexport const graph = 1;", 'a.md': '#' },
    ],
  ])('accepts a graph %s', async (_name, graph, files) => {
    await expect(checkGraphs(agent(graph, files))).resolves.toBeUndefined();
  });

  it('follows a link to the folder', async () => {
    const folder = agent('./a.ts:graph', { 'a.ts': 'export const graph = 1;' });
    symlinkSync(folder, `${folder}-link`);
    await expect(checkGraphs(`${folder}-link`)).resolves.toBeUndefined();
  });
});
