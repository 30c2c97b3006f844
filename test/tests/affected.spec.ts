import { describe, expect, it } from '@jest/globals';
import { type Plan, planSpecs } from '../../scripts/tests/affected.mjs';
import { buildGraph, parseModule } from '../../scripts/tests/module-graph.mjs';

/** A small repository: two libraries, an app with a program, and files of test/. */
const FILES: Readonly<Record<string, string>> = {
  'libs/alpha/src/index.ts': `export { join, type Url } from './join.js'; export { parse } from './parse.js';`,
  'libs/alpha/src/join.ts': '',
  'libs/alpha/src/parse.ts': '',
  'libs/beta/src/index.ts': `export { get as fetchOnce } from './get.js'; export { join } from '#lib/alpha';`,
  'libs/beta/src/get.ts': `import { type Url } from '#lib/alpha'; import type { parse } from '#lib/alpha';`,
  'libs/beta/src/get.spec.ts': `import { fetchOnce } from './index.js'; const cases = 'cases';`,
  'apps/one/src/main.ts': `await import('./program.js');`,
  'apps/one/src/program.ts': `import { join } from '#lib/beta';`,
  'apps/one/src/start.ts': `spawn(join(root, 'dist', 'apps', 'api', 'src', 'main.js'));`,
  'apps/one/src/start.spec.ts': `import './start.js'; import { spawn } from 'node:child_process';`,
  'apps/one/src/all.spec.ts': `import * as url from '#lib/alpha';`,
  'test/e2e/platform.ts': `import { spawn } from 'node:child_process'; import '../../apps/one/src/main.js';`,
  'test/e2e/walk.spec.ts': `import { start } from './platform.js'; read('walk.yaml');`,
  'test/docs/pages.spec.ts': `import { execFile } from 'node:child_process';`,
};
const sources = new Map(Object.entries(FILES));
const graph = buildGraph(
  new Map(Object.entries(FILES).map(([path, text]) => [path, parseModule(path, text)])),
);

const plan = (changed: string, options: Partial<Parameters<typeof planSpecs>[3]> = {}): Plan =>
  planSpecs(sources, graph, [changed], { maxSeconds: 100, ...options });
const selectedBy = (changed: string): string[] => plan(changed).selected.map(([spec = '']) => spec);

describe('the graph of modules', () => {
  it.each([
    ['follows a name through two barrels', 'apps/one/src/program.ts', ['libs/alpha/src/join.ts']],
    ['follows a name that a barrel changes', 'libs/beta/src/get.spec.ts', ['libs/beta/src/get.ts']],
    ['has no edge for a type', 'libs/beta/src/get.ts', []],
    [
      'takes an import of a namespace for all of the barrel',
      'apps/one/src/all.spec.ts',
      ['libs/alpha/src/index.ts'],
    ],
    [
      'has an edge from a barrel to each module',
      'libs/alpha/src/index.ts',
      ['libs/alpha/src/join.ts', 'libs/alpha/src/parse.ts'],
    ],
    ['follows a dynamic import', 'apps/one/src/main.ts', ['apps/one/src/program.ts']],
    ['follows the path of a program that was compiled', 'apps/one/src/start.ts', ['apps/one/src/main.ts']],
  ])('%s', (_name, from, to) => {
    expect([...(graph.get(from) ?? [])]).toEqual(to);
  });

  it('keeps a module with statements of its own as it is', () => {
    const index = `export { get } from './get.js'; register();`;
    expect(parseModule('libs/beta/src/index.ts', index)).toEqual({
      imports: [['./get.js', ['get']]],
      barrel: null,
      programs: [],
    });
  });
});

describe('the plan of a quick run', () => {
  it.each([
    ['a module', 'libs/alpha/src/parse.ts', ['apps/one/src/all.spec.ts']],
    [
      'a module of a program',
      'libs/alpha/src/join.ts',
      ['apps/one/src/all.spec.ts', 'apps/one/src/start.spec.ts'],
    ],
    ['a spec file', 'libs/beta/src/get.spec.ts', ['libs/beta/src/get.spec.ts']],
    [
      'a case in a folder that is listed',
      'libs/beta/src/testdata/cases/one.json',
      ['libs/beta/src/get.spec.ts'],
    ],
    ['a file that a spec file names', 'test/e2e/data/walk.yaml', ['test/e2e/walk.spec.ts']],
    ['a support module of test/', 'test/e2e/platform.ts', ['test/e2e/walk.spec.ts']],
    ['a page', 'docs/start.md', ['test/docs/pages.spec.ts']],
  ])('selects the spec files that reach %s', (_name, changed, specs) => {
    expect(selectedBy(changed)).toEqual(specs);
  });

  it('shows the shortest way from a spec file to the change', () => {
    expect(plan('apps/one/src/program.ts').selected).toEqual([
      [
        'apps/one/src/start.spec.ts',
        'apps/one/src/start.ts',
        'apps/one/src/main.ts',
        'apps/one/src/program.ts',
      ],
    ]);
  });

  it('adds all pure spec files, and counts files of test/ that reach a change by the platform alone', () => {
    expect(plan('apps/one/src/main.ts')).toMatchObject({
      ring: ['libs/beta/src/get.spec.ts', 'apps/one/src/all.spec.ts'],
      left: [],
      borders: 2,
      servers: true,
    });
  });

  it('names changes that concern all spec files, and those that none reads', () => {
    expect(plan('package.json')).toMatchObject({
      selected: [],
      global: ['package.json'],
      unread: [],
      servers: false,
    });
    expect(plan('deploy/api.service')).toMatchObject({
      selected: [],
      global: [],
      unread: ['deploy/api.service'],
    });
  });

  it('leaves the furthest to npm test, and pure spec files that are slow', () => {
    const durations = { 'apps/one/src/all.spec.ts': 50, 'libs/beta/src/get.spec.ts': 6 };
    const { selected, ring, left } = plan('libs/alpha/src/join.ts', { durations, maxSeconds: 52 });
    expect(selected.map(([spec]) => spec)).toEqual(['apps/one/src/all.spec.ts']);
    expect([ring, left]).toEqual([[], ['libs/beta/src/get.spec.ts', 'apps/one/src/start.spec.ts']]);
  });
});
