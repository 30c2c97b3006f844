import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { temporaryFolder } from '#lib/testing';
import { UiAssets } from './ui-assets.js';

const folder = temporaryFolder();
let count = 0;

function agentWith(files: Readonly<Record<string, string | Buffer>>): string {
  const path = join(folder, String(count++));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(path, name)), { recursive: true });
    writeFileSync(join(path, name), text);
  }
  return path;
}

const CARD = 'export default { card: () => <b>card</b> };';

async function load(
  files: Readonly<Record<string, string | Buffer>>,
  { file = './src/ui.tsx', shared = [] as string[] } = {},
): Promise<{ assets: UiAssets; sources: string[]; script: string; style: string | undefined }> {
  const path = agentWith(files);
  const sources: string[] = [];
  const ui = { entries: [{ name: 'agent', file }], shared };
  const assets = await UiAssets.load({ folder: path, ui }, (found) => sources.push(...found));
  const text = (name: string): string | undefined => assets.find('agent', name)?.bytes.toString();
  return {
    assets,
    script: text('entrypoint.js') ?? '',
    style: text('entrypoint.css'),
    sources: sources.map((source) => source.slice(path.length + 1)).sort(),
  };
}

describe('the bundle of components', () => {
  it('makes a script and a style of all that is imported', async () => {
    const { assets, script, style, sources } = await load({
      'src/ui.tsx': `import './ui.css';\nimport { word } from './word.js';\nexport default { card: () => <b>{word}</b> };`,
      'src/word.ts': `export const word: string = 'bundled';`,
      'src/ui.css': `.card { background: url(./dot.png) }`,
      'src/dot.png': Buffer.from('89504e47', 'hex'),
    });
    expect(script).toContain('bundled');
    expect(style).toContain('url(data:image/png;base64,iVBORw==)');
    expect(sources).toEqual(['src/dot.png', 'src/ui.css', 'src/ui.tsx', 'src/word.ts']);
    expect(assets.of('agent')?.map(({ name, type }) => [name, type])).toEqual([
      ['entrypoint.css', 'text/css; charset=utf-8'],
      ['entrypoint.js', 'text/javascript; charset=utf-8'],
    ]);
  });

  it('leaves React, the SDK and shared packages to the page, whatever tsconfig.json says of JSX', async () => {
    const { script } = await load(
      {
        'src/ui.tsx': [
          `import { useState } from 'react';\nimport { Bar } from 'charts/bar';`,
          `import { useStreamContext } from '@langchain/langgraph-sdk/react-ui';`,
          `export default { card: () => <Bar a={useState(1)} b={useStreamContext()} /> };`,
        ].join('\n'),
        'tsconfig.json': '{ "compilerOptions": { "jsx": "preserve" } }',
      },
      { shared: ['charts'] },
    );
    const asked = [...script.matchAll(/LGUI_REQUIRE"\)\]\("([^"]+)"\)/g)].map(([, name]) => name);
    expect(asked.sort()).toEqual([
      '@langchain/langgraph-sdk/react-ui',
      'charts/bar',
      'react',
      'react/jsx-runtime',
    ]);
  });

  it('has the same hash wherever it is made', async () => {
    const hashes = [await load({ 'src/ui.tsx': CARD }), await load({ 'src/ui.tsx': CARD })].map(
      ({ assets }) => assets.find('agent', 'entrypoint.js')?.hash,
    );
    expect(hashes[0]).toBe(hashes[1]);
    expect(hashes[0]).toHaveLength(27);
  });

  it('uses the plugin for Tailwind that the agent brings', async () => {
    const plugin = `exports.tailwindPlugin = () => ({ name: 't', setup: (b) => b.onLoad({ filter: /\\.css$/ }, () => ({ contents: '.made{color:red}', loader: 'css' })) });`;
    const { style } = await load({
      'src/ui.tsx': `import './ui.css';\n${CARD}`,
      'src/ui.css': '@import "tailwindcss";',
      'node_modules/esbuild-plugin-tailwindcss/index.js': plugin,
    });
    expect(style).toContain('.made{');
  });

  it.each([
    [
      'a file with an error',
      { 'src/ui.tsx': 'export default {\n  card: <b>,\n};' },
      '"ui" of langgraph.json: agent failed to load: src/ui.tsx:3:1: ',
    ],
    [
      'a file that imports what does not exist',
      { 'src/ui.tsx': `import { a } from './absent.js';\nexport default { a };` },
      'src/ui.tsx:1:19: Could not resolve "./absent.js"',
    ],
    [
      'a module of Node',
      { 'src/ui.tsx': `import { readFileSync } from 'node:fs';\nexport default { readFileSync };` },
      'src/ui.tsx:1:30: Could not resolve "node:fs"',
    ],
    [
      'a style of Tailwind without its plugin',
      { 'src/ui.tsx': `import './ui.css';\n${CARD}`, 'src/ui.css': '@import "tailwindcss";' },
      'src/ui.css:1:9: Tailwind needs the package esbuild-plugin-tailwindcss',
    ],
    [
      'a file without a default export',
      { 'src/ui.tsx': 'export const card = 1;' },
      'agent failed to load: src/ui.tsx has no default export; write "export default { NAME: Component }"',
    ],
    ['a file that does not exist', { 'src/a.tsx': '' }, 'agent failed to load: src/ui.tsx does not exist'],
  ])('refuses %s by its place', async (_title, files: Record<string, string>, message) => {
    await expect(load(files)).rejects.toMatchObject({
      reason: 'GraphLoadFailed',
      message: expect.stringContaining(message) as unknown,
    });
  });

  it('refuses more bytes than are served', async () => {
    const files = { 'src/ui.tsx': CARD.replace('card</b>', `${'x'.repeat(17 * 2 ** 20)}</b>`) };
    await expect(load(files)).rejects.toThrow(/its bundle has \d+ bytes, and 16777216 at most are served/);
  });

  it('bundles the example', async () => {
    const example = join(import.meta.dirname, '..', '..', '..', '..', 'examples', 'cards');
    const ui = { entries: [{ name: 'weather', file: 'src/ui.tsx' }], shared: [] };
    const assets = await UiAssets.load({ folder: example, ui }, () => undefined);
    expect(assets.of('weather')).toHaveLength(2);
  });
});
