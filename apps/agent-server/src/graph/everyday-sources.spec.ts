import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { GRAPH_SOURCES_FILE, keepSources } from '#lib/graph-sources';
import { freePort, temporaryFolder, testPostgres, waitFor } from '#lib/testing';
import { ServerProcess } from '../../testdata/start-server.js';
import { prepareDatabase } from '../../testdata/store-fixture.js';

const postgres = testPostgres();
const root = temporaryFolder();
const dependencies = join(import.meta.dirname, '..', '..', '..', '..', 'node_modules');
let uri: string;
let made = 0;

beforeAll(async () => {
  uri = (await postgres.freshDatabase(prepareDatabase)).uri;
});

type Files = Readonly<Record<string, string>>;

/** An agent of one graph that answers `{ answer }`, made by an expression. */
const graphOf = (head: string, expression: string, body = ''): string => `
${head}
import { Annotation, StateGraph, START, END } from '@langchain/langgraph';
${body}
const State = Annotation.Root({ answer: Annotation<unknown> });
export const graph = new StateGraph(State)
  .addNode('only', () => ({ answer: ${expression} }))
  .addEdge(START, 'only').addEdge('only', END).compile();
`;

function agentWith(files: Files): string {
  const folder = join(root, `agent-${made++}`);
  const all: Files = {
    'langgraph.json': JSON.stringify({ graphs: { agent: './src/graph.ts:graph' } }),
    'package.json': '{"type": "module"}',
    ...files,
  };
  for (const [name, text] of Object.entries(all)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  symlinkSync(dependencies, join(folder, 'node_modules'));
  return folder;
}

interface Form {
  /** Source of the file with the graph; the others are named by their paths. */
  readonly source: string;
  readonly extension?: string;
  readonly others?: Files;
  readonly answer: unknown;
}

const tools = 'export interface Tool { n: number }\nexport const tool: Tool = { n: 7 };';
const FORMS: Readonly<Record<string, Form>> = {
  'a type imported without `type`': {
    source: graphOf(
      `import { LangGraphRunnableConfig } from '@langchain/langgraph';`,
      '1',
      'export const f = (config: LangGraphRunnableConfig) => config;',
    ),
    answer: 1,
  },
  'an enum': { source: graphOf('', 'Kind.Two', 'enum Kind { One = 1, Two }'), answer: 2 },
  'a namespace': { source: graphOf('', 'N.x', 'namespace N { export const x = 3; }'), answer: 3 },
  'a parameter property': {
    source: graphOf('', 'new P(4).n', 'class P { constructor(readonly n: number) {} }'),
    answer: 4,
  },
  'an import without extension': {
    source: graphOf(`import { tool } from './tools';`, 'tool.n'),
    others: { 'src/tools.ts': tools },
    answer: 7,
  },
  'an import of .js that is a .ts': {
    source: graphOf(`import { tool, Tool } from './tools.js';`, 'tool.n'),
    answer: 7,
  },
  'a folder with an index': {
    source: graphOf(`import { tool } from './kit';`, 'tool.n'),
    others: { 'src/kit/index.ts': tools },
    answer: 7,
  },
  'a .tsx file': { source: graphOf('', '<b id="x" />.props.id'), extension: 'tsx', answer: 'x' },
  'a JSON import without attribute': {
    source: graphOf(`import data from './data.json';`, 'data.n'),
    others: { 'src/data.json': '{"n": 8}' },
    answer: 8,
  },
  'paths of tsconfig.json': { source: graphOf(`import { tool } from '@/tools';`, 'tool.n'), answer: 7 },
  'JavaScript with TypeScript beside it': {
    source: graphOf(`import { tool } from './tools.js';`, 'tool.n').replace('<unknown>', '()'),
    extension: 'mjs',
    answer: 7,
  },
  'an import that is named at run time': {
    source: graphOf(
      '',
      '(later as { six: number }).six',
      `const later = await import(['./six', 'ts'].join('.'));`,
    ),
    others: { 'src/six.ts': 'export const six: number = 6;' },
    answer: 6,
  },
};

describe('an agent as people write it', () => {
  const titles = Object.keys(FORMS);
  let server: ServerProcess;
  beforeAll(async () => {
    const files: Record<string, string> = {
      'tsconfig.json':
        '{"compilerOptions": {"baseUrl": ".", "paths": {"@/*": ["./src/*"]}, "jsx": "react-jsx"}}',
    };
    const graphs: Record<string, string> = {};
    for (const [index, { source, extension = 'ts', others }] of Object.values(FORMS).entries()) {
      graphs[`graph-${index}`] = `./src/graph-${index}.${extension}:graph`;
      Object.assign(files, { [`src/graph-${index}.${extension}`]: source, ...others });
    }
    files['langgraph.json'] = JSON.stringify({ graphs });
    server = await ServerProcess.start({ uri, folder: agentWith(files) });
  });
  afterAll(() => server?.stop('SIGKILL'));

  it.each(titles)('loads %s', async (title) => {
    const client = server.client();
    const state = await client.runs.wait(null, `graph-${titles.indexOf(title)}`, { input: {} });
    expect(state).toEqual({ answer: FORMS[title]?.answer });
  });
});

it('loads ESM in a CommonJS package, and gives it the names that it counts on', async () => {
  const folder = agentWith({
    'package.json': '{"type": "commonjs"}',
    'src/graph.ts': graphOf('', `[typeof __dirname, require('./five.cjs'), require('./tools').tool.n]`),
    'src/five.cjs': 'module.exports = 5;',
    'src/tools.ts': tools,
  });
  const server = await ServerProcess.start({ uri, folder });
  try {
    const state = await server.client().runs.wait(null, 'agent', { input: {} });
    expect(state).toEqual({ answer: ['string', 5, 7] });
  } finally {
    await server.stop('SIGKILL');
  }
});

it('gives an agent its variables and the logger of the SDK while it loads', async () => {
  const folder = agentWith({
    'langgraph.json': JSON.stringify({ graphs: { agent: './src/graph.ts:graph' }, env: '.env', odd: 1 }),
    '.env': 'FROM_FILE="a b"\nFROM_BOTH=file\n',
    'src/graph.ts': graphOf(
      `import { getLogger } from '@langchain/langgraph-sdk/logging';`,
      '[process.env.FROM_FILE, process.env.FROM_BOTH]',
      `getLogger().info('loading', { step: 1 }).warn('slow', new Error('why'));`,
    ),
  });
  const server = await ServerProcess.start({ uri, folder, env: { FROM_BOTH: 'deployment' } });
  try {
    const state = await server.client().runs.wait(null, 'agent', { input: {} });
    expect(state).toEqual({ answer: ['a b', 'deployment'] });
    expect(server.log).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ level: 'info', msg: 'loading', agent: { step: 1 } }),
        expect.objectContaining({
          level: 'warn',
          msg: 'slow',
          err: expect.objectContaining({ message: 'why' }),
        }),
        expect.objectContaining({
          note: '"odd" of langgraph.json has no effect: it is not a known setting',
        }),
      ]),
    );
  } finally {
    await server.stop('SIGKILL');
  }
});

it('runs what an image has kept of its sources', async () => {
  const folder = agentWith({ 'src/graph.ts': graphOf('', '"as written"') });
  await keepSources(folder, [join(folder, 'src/graph.ts')]);
  const kept = join(folder, GRAPH_SOURCES_FILE);
  // another text shows where it was read
  writeFileSync(kept, readFileSync(kept, 'utf8').replace('as written', 'as kept'));
  const server = await ServerProcess.start({ uri, folder });
  try {
    expect(await server.client().runs.wait(null, 'agent', { input: {} })).toEqual({ answer: 'as kept' });
  } finally {
    await server.stop('SIGKILL');
  }
});

describe('an agent that does not load', () => {
  it.each<[string, Files, RegExp]>([
    [
      'a syntax error with its line and column',
      { 'src/graph.ts': 'const a = 1;\nexport const graph = = 2;\n' },
      /src\/graph\.ts:2:22: Unexpected "="/,
    ],
    [
      'a file that is missing with the import',
      { 'src/graph.ts': `import { a } from './nope';\nexport const graph = a;` },
      /src\/graph\.ts:1:19: Could not resolve "\.\/nope"/,
    ],
    [
      'a package that is missing with its importer',
      { 'src/graph.ts': `import { a } from 'left-pad-x';\nexport const graph = a;` },
      /Cannot find package 'left-pad-x' imported from src\/graph\.ts/,
    ],
    [
      'a line that throws by the lines of the author',
      {
        'src/graph.ts': `import { make } from './make';\nexport const graph = make(1);`,
        'src/make.ts': `interface A {\n  a: number;\n}\n\nexport function make(a: number): A {\n  throw new Error('no ' + a);\n}`,
      },
      /graph "agent" of src\/graph\.ts failed to load: no 1 \(src\/make\.ts:6:9\)/,
    ],
    [
      'a graph file that does not exist',
      { 'langgraph.json': '{"graphs": {"agent": "./src/nope.ts:graph"}}' },
      /graph "agent" of src\/nope\.ts failed to load: the file does not exist/,
    ],
    [
      'an authentication handler that does not exist',
      {
        'langgraph.json': '{"graphs": {"agent": "./src/graph.ts:graph"}, "auth": {"path": "./auth.ts:auth"}}',
      },
      /"auth\.path" of langgraph\.json: auth\.ts failed to load: the file does not exist/,
    ],
    [
      'an export that does not exist',
      { 'src/graph.ts': 'export const grpah = 1;' },
      /graph "agent" of src\/graph\.ts failed to load: export "graph" does not exist/,
    ],
  ])('names %s', async (_title, files, message) => {
    await expect(ServerProcess.start({ uri, folder: agentWith(files) })).rejects.toThrow(message);
  });
});

it('names the line of the author when a node throws', async () => {
  const body = `interface Long {\n  a: number;\n}\nfunction fail(): never {\n  throw new Error('at ' + new Error().stack);\n}`;
  const folder = agentWith({ 'src/graph.ts': graphOf('', 'fail()', body) });
  const server = await ServerProcess.start({ uri, folder });
  try {
    const answer = await server.client().runs.wait(null, 'agent', { input: {}, raiseError: false });
    expect(JSON.stringify(answer)).toMatch(/src\/graph\.ts:8:27/);
  } finally {
    await server.stop('SIGKILL');
  }
});

it('reports in which file a graph that is slow to load is, and what it waits for', async () => {
  const port = await freePort();
  const gate = join(root, 'gate');
  const folder = agentWith({
    'src/graph.ts': graphOf(`import { ready } from './slow';`, 'ready'),
    'src/done.ts': 'export const done = true;',
    'src/slow.ts': `import { existsSync } from 'node:fs';
      import { setTimeout } from 'node:timers/promises';
      import './done';
      while (!existsSync(${JSON.stringify(gate)})) await setTimeout(50);
      export const ready: boolean = true;`,
  });
  const starting = ServerProcess.start({ uri, folder, env: { PORT: String(port) } });
  const found = waitFor(async () => {
    const answer = await fetch(`http://127.0.0.1:${port}/ok`);
    const { detail } = (await answer.json()) as { detail?: string };
    return detail?.includes('slow') && `${answer.status} ${detail}`;
  });
  try {
    expect(await found).toMatch(
      /^503 graph "agent" has been loading for \d+ s; it is in src\/slow\.ts, which waits for .*a timer/,
    );
  } finally {
    writeFileSync(gate, '');
    await (await starting).stop();
  }
});

it('loads handlers that require files of their own folder', async () => {
  const auth = `import { Auth, HTTPException } from '@langchain/langgraph-sdk/auth';
    const { keys } = require('./keys.cjs');
    export const auth = new Auth().authenticate((request) => {
      const identity = keys[request.headers.get('x-api-key') ?? ''];
      if (!identity) throw new HTTPException(401, { message: 'unknown key' });
      return { identity, permissions: [] };
    });`;
  const folder = agentWith({
    'package.json': '{"type": "commonjs"}',
    'langgraph.json': '{"graphs": {"agent": "./src/graph.ts:graph"}, "auth": {"path": "./auth.ts:auth"}}',
    'src/graph.ts': graphOf('', '1'),
    'keys.cjs': `exports.keys = { k: 'alice' };`,
    'auth.ts': auth,
  });
  const server = await ServerProcess.start({ uri, folder });
  try {
    await expect(server.client('other').threads.create()).rejects.toThrow('unknown key');
    expect(await server.client('k').runs.wait(null, 'agent', { input: {} })).toEqual({ answer: 1 });
  } finally {
    await server.stop('SIGKILL');
  }
});
