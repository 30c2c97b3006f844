import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { temporaryFolder } from '#lib/testing';
import { compileSources } from './compile-sources.js';
import { GRAPH_SOURCES_FILE, keepSources, keptSources } from './kept-sources.js';

const root = temporaryFolder();
const FILES = {
  'package.json': '{"type": "module"}',
  'tsconfig.json': '{"compilerOptions": {"paths": {"@/*": ["./src/*"]}, "jsx": "react-jsx"}}',
  'src/graph.ts': `import { tool } from '@/kit/tool';\nimport data from './data.json';\nexport const graph: unknown = [tool, data];`,
  'src/kit/tool.tsx': `import { a } from './a.js';\nexport const tool = <b id={a} />;`,
  'src/kit/a.js': 'export const a = 1;',
  'src/data.json': '{"n": 8}',
  'old/auth.cts': 'export const auth: number = 5;',
};
let made = 0;

async function kept() {
  const taken = join(root, `taken-${made}`);
  for (const [name, text] of Object.entries(FILES)) {
    mkdirSync(dirname(join(taken, name)), { recursive: true });
    writeFileSync(join(taken, name), text);
  }
  await keepSources(taken, [join(taken, 'src/graph.ts'), join(taken, 'old/auth.cts')]);
  // an image is made in one place and lies in another
  const folder = join(root, `image-${made++}`);
  renameSync(taken, folder);
  const at = (name: string) => join(folder, name);
  return { folder, at, read: (...names: string[]) => keptSources(folder, names.map(at)) };
}

describe('keptSources', () => {
  it('answers what would be made of the files, wherever their folder lies', async () => {
    const { folder, at, read } = await kept();
    const anew = await compileSources(folder, [at('src/graph.ts'), at('old/auth.cts')]);
    expect(anew.modules.size).toBe(3);
    expect(await read('src/graph.ts', 'old/auth.cts')).toEqual(anew);
    expect(await read('old/auth.cts')).toEqual(anew);
  });

  it.each<[string, (at: (name: string) => string) => void]>([
    ['a source has changed', (at) => writeFileSync(at('src/kit/a.js'), 'export const a = 2;')],
    ['a source was removed', (at) => rmSync(at('src/data.json'))],
    ['a setting has changed', (at) => writeFileSync(at('tsconfig.json'), '{}')],
    ['a setting was added', (at) => writeFileSync(at('src/kit/package.json'), '{"type": "commonjs"}')],
    ['nothing was kept', (at) => rmSync(at(GRAPH_SOURCES_FILE))],
    ['the file is cut off', (at) => writeFileSync(at(GRAPH_SOURCES_FILE), '{')],
    ['the file is of another kind', (at) => writeFileSync(at(GRAPH_SOURCES_FILE), '{"format": 1}')],
    [
      'the file is of another version',
      (at) => {
        const text = readFileSync(at(GRAPH_SOURCES_FILE), 'utf8');
        writeFileSync(at(GRAPH_SOURCES_FILE), text.replace('{"format":1', '{"format":0'));
      },
    ],
  ])('answers nothing where %s', async (_why, change) => {
    const { at, read } = await kept();
    expect(await read('src/graph.ts')).toBeDefined();
    change(at);
    expect(await read('src/graph.ts')).toBeUndefined();
  });

  it('keeps nothing of files that lie elsewhere, unless their folder is named', async () => {
    const other = join(root, 'other-agent');
    mkdirSync(other);
    writeFileSync(join(other, 'secret.ts'), `export const secret: string = 'of another agent';`);
    const folder = join(root, 'curious');
    mkdirSync(folder);
    const graph = join(folder, 'graph.ts');
    writeFileSync(graph, `export { secret as graph } from '../other-agent/secret';`);
    await keepSources(folder, [graph]);
    expect(existsSync(join(folder, GRAPH_SOURCES_FILE))).toBe(false);
    // packages of a monorepo lie beside the agent
    await keepSources(folder, [graph], [root]);
    expect((await keptSources(folder, [graph]))?.modules.size).toBe(2);
  });

  it('answers nothing for a file that was not followed', async () => {
    const { at, read } = await kept();
    writeFileSync(at('src/other.ts'), '');
    expect(await read('src/graph.ts', 'src/other.ts')).toBeUndefined();
  });
});
