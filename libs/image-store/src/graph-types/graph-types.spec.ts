import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { INSTALLATION, packagesOf } from '#lib/data-folder';
import { GRAPH_TYPES_FILE } from '#lib/graph-configuration';
import { GRAPH_SOURCES_FILE } from '#lib/graph-sources';
import type { JsonObject } from '#lib/json';
import { temporaryFolder } from '#lib/testing';
import { keepGraphTypes } from './keep-graph-types.js';

const root = temporaryFolder();
const modules = packagesOf(INSTALLATION);

interface Schema extends JsonObject {
  readonly properties?: Readonly<Record<string, JsonObject>>;
}

type Kinds = Readonly<Record<'input' | 'output' | 'state' | 'config', Schema | undefined>>;

interface Kept {
  readonly graphs: Readonly<Record<string, Kinds>>;
  readonly subgraphs: Readonly<Record<string, Kinds>>;
  readonly notes: readonly string[];
}

let made = 0;

/** Keeps the types of an agent that has these files and the packages of this repository. */
async function keep(
  files: Readonly<Record<string, string>>,
  links: Readonly<Record<string, string>> = {},
): Promise<Kept> {
  const folder = join(root, `agent-${made++}`);
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  for (const [name, goal] of Object.entries(links)) symlinkSync(goal, join(folder, name));
  symlinkSync(modules, join(folder, 'node_modules'));
  const notes = await keepGraphTypes(join(folder, 'langgraph.json'), [modules], { isFinal: true });
  const kept = JSON.parse(readFileSync(join(folder, GRAPH_TYPES_FILE), 'utf8')) as Omit<Kept, 'notes'>;
  return { ...kept, notes };
}

const graphsOf = (graphs: Readonly<Record<string, string>>): string => JSON.stringify({ graphs });

const MESSAGES = { type: 'array', items: { $ref: '#/definitions/BaseMessage' }, langgraph_type: 'messages' };
const NODE = "addNode('a', () => ({})).addEdge('__start__', 'a')";

const ANNOTATIONS = `
import { Annotation, MessagesAnnotation, StateGraph } from '@langchain/langgraph';
interface Place { name: string; at?: [number, number]; kind: 'town' | 'city'; tags: string[]; when: Date; next?: Place }
const State = Annotation.Root({
  ...MessagesAnnotation.spec,
  /** What it is about. */
  topic: Annotation<string>,
  count: Annotation<number>({ reducer: (a, b) => a + b, default: () => 0 }),
  place: Annotation<Place | null>,
  byName: Annotation<Record<string, number>>,
  flag: Annotation<boolean | undefined>,
  anything: Annotation<unknown>,
  one: Annotation<1 | 2 | 'x'>,
  call: Annotation<() => void>,
});
const Input = Annotation.Root({ topic: Annotation<string>, count: Annotation<number>({ reducer: (a, b) => a + b, default: () => 0 }) });
const Output = Annotation.Root({ place: Annotation<Place | null> });
const Config = Annotation.Root({ model: Annotation<'small' | 'large'>, userId: Annotation<string> });
const inner = new StateGraph(Annotation.Root({ deep: Annotation<boolean> })).${NODE}.compile();
const middle = new StateGraph(Annotation.Root({ kind: Annotation<'weather' | 'other'> }))
  .addNode('inner', inner).addEdge('__start__', 'inner').compile();
const builder = new StateGraph({ stateSchema: State, input: Input, output: Output }, Config);
export const graph = builder.addNode('middle', middle).addNode('done', () => ({ count: 1 })).addEdge('__start__', 'middle').compile();
const plain = new StateGraph(MessagesAnnotation).${NODE};
export const builds = plain;
export const makes = () => plain.compile();
export const promises = async () => plain;
export default plain.compile();
`;

const PLACE = {
  type: 'object',
  properties: {
    name: { type: 'string' },
    at: { type: 'array', items: { type: 'number' } },
    kind: { type: 'string', enum: ['city', 'town'] },
    tags: { type: 'array', items: { type: 'string' } },
    when: { type: 'string', format: 'date-time' },
    next: {},
  },
};

describe('types of graphs made of annotations', () => {
  let kept: Kept;
  beforeAll(async () => {
    const names = {
      graph: 'graph',
      builds: 'builds',
      makes: 'makes',
      promises: 'promises',
      plain: 'default',
    };
    const entries = Object.entries(names).map(([id, name]) => [id, `./src/graph.ts:${name}`]);
    const files = { 'langgraph.json': graphsOf(Object.fromEntries(entries) as Record<string, string>) };
    kept = await keep({ ...files, 'src/graph.ts': ANNOTATIONS });
  });

  it('names every field of the state with its type', () => {
    expect(kept.notes).toEqual([]);
    expect(kept.graphs['graph']?.state?.properties).toEqual({
      messages: MESSAGES,
      topic: { type: 'string', description: 'What it is about.' },
      count: { type: 'number' },
      place: { anyOf: [{ type: 'null' }, PLACE] },
      byName: { type: 'object', additionalProperties: { type: 'number' } },
      flag: { type: 'boolean' },
      anything: {},
      one: { type: ['string', 'number'], enum: ['x', 1, 2] },
    });
  });

  it('keeps input, output and configuration apart', () => {
    const { input, output, config } = kept.graphs['graph'] ?? {};
    expect(input?.properties).toEqual({ topic: { type: 'string' }, count: { type: 'number' } });
    expect(output?.properties).toEqual({ place: { anyOf: [{ type: 'null' }, PLACE] } });
    expect(config?.properties).toEqual({
      model: { type: 'string', enum: ['large', 'small'] },
      userId: { type: 'string' },
    });
  });

  it.each(['builds', 'makes', 'promises', 'plain'])('reads messages of a graph that %s', (id) => {
    const { input, output, state, config } = kept.graphs[id] ?? {};
    for (const schema of [input, output, state])
      expect(schema).toMatchObject({
        $schema: 'http://json-schema.org/draft-07/schema#',
        type: 'object',
        properties: { messages: MESSAGES },
        definitions: {
          BaseMessage: {
            description: expect.stringContaining('Base class for all types of messages') as string,
            oneOf: expect.arrayContaining(
              ['AIMessage', 'BaseMessageChunk', 'HumanMessage', 'RemoveMessage', 'ToolMessage'].map(
                (name) => ({
                  $ref: `#/definitions/${name}`,
                }),
              ),
            ) as unknown[],
          },
        },
      });
    expect(config).toEqual({ $schema: 'http://json-schema.org/draft-07/schema#', type: 'object' });
  });

  it('reads graphs that are nodes of others', () => {
    expect(kept.subgraphs['middle']?.state?.properties).toEqual({
      kind: { type: 'string', enum: ['other', 'weather'] },
    });
    expect(kept.subgraphs['inner']?.input?.properties).toEqual({ deep: { type: 'boolean' } });
  });
});

describe('types of graphs', () => {
  it('notes nothing about an entrypoint, whose input is no object', async () => {
    const code = `import { entrypoint, interrupt } from '@langchain/langgraph';
export const graph = entrypoint('essay', async (topic: string) => ({ topic, isApproved: interrupt('so?') }));`;
    const { notes } = await keep({
      'langgraph.json': graphsOf({ essay: './graph.ts:graph' }),
      'graph.ts': code,
    });
    expect(notes).toEqual([]);
  });

  it('follows aliases of tsconfig.json, with and without a base', async () => {
    const graph = (from: string): string =>
      `import { StateGraph } from '@langchain/langgraph';\nimport { State } from '${from}';\nexport const graph = new StateGraph(State).${NODE}.compile();`;
    const state = `import { Annotation } from '@langchain/langgraph';\nexport const State = Annotation.Root({ topic: Annotation<string> });`;
    const kept = await keep({
      'langgraph.json': graphsOf({
        aliased: './apps/one/src/graph.ts:graph',
        based: './apps/two/src/graph.ts:graph',
        relative: './apps/two/src/other.ts:graph',
      }),
      'apps/one/tsconfig.json': '{ "extends": "./base.json", "compilerOptions": { "target": "es5" } }',
      'apps/one/base.json': '{ "compilerOptions": { "paths": { "~/*": ["./src/*"] } } }',
      'apps/one/src/graph.ts': graph('~/state'),
      'apps/one/src/state.ts': state,
      'apps/two/tsconfig.json': '{ "compilerOptions": { "baseUrl": "./src", "moduleResolution": "node" } }',
      'apps/two/src/graph.ts': graph('parts/state'),
      'apps/two/src/other.ts': graph('./parts/state.js'),
      'apps/two/src/parts/state.ts': state,
    });
    expect(kept.notes).toEqual([]);
    for (const id of ['aliased', 'based', 'relative'])
      expect(kept.graphs[id]?.input?.properties).toEqual({ topic: { type: 'string' } });
  });

  it('reads a state of Zod and one in JavaScript', async () => {
    const kept = await keep({
      'langgraph.json': graphsOf({ zod: './zod.ts:graph', plain: './plain.mjs:graph' }),
      'zod.ts': `import { z } from 'zod';\nimport { StateGraph } from '@langchain/langgraph';\nconst State = z.object({ topic: z.string(), count: z.number().optional() });\nexport const graph = new StateGraph(State).${NODE}.compile();`,
      'plain.mjs': `import { Annotation, StateGraph } from '@langchain/langgraph';\nconst State = Annotation.Root({ items: Annotation({ reducer: (a, b) => a.concat(b), default: () => [''] }) });\nexport const graph = new StateGraph(State).${NODE}.compile();`,
    });
    expect(kept.graphs['zod']?.input?.properties).toMatchObject({
      topic: { type: 'string' },
      count: { type: 'number' },
    });
    expect(kept.graphs['plain']?.state?.properties).toEqual({ items: expect.any(Object) as object });
  });

  it('answers a file with wrong types, and names what hides a type', async () => {
    const kept = await keep({
      'langgraph.json': graphsOf({
        wrong: './wrong.ts:graph',
        lost: './lost.ts:graph',
        part: './part.ts:graph',
      }),
      'part.ts': `import { Annotation, StateGraph } from '@langchain/langgraph';\nimport type { Part } from 'no-types';\nconst State = Annotation.Root({ topic: Annotation<string>, part: Annotation<Part> });\nexport const graph = new StateGraph(State).${NODE}.compile();`,
      'wrong.ts': `import { Annotation, StateGraph } from '@langchain/langgraph';\nconst wrong: number = 'text';\nconst State = Annotation.Root({ topic: Annotation<string> });\nexport const graph = new StateGraph(State).${NODE}.compile();`,
      'lost.ts': `import { makeGraph } from 'no-such-package';\nexport const graph = makeGraph();`,
    });
    expect(kept.graphs['wrong']?.input?.properties).toEqual({ topic: { type: 'string' } });
    expect(kept.graphs['lost']).toBeUndefined();
    expect(kept.graphs['part']?.input?.properties).toEqual({ topic: { type: 'string' }, part: {} });
    expect(kept.notes).toEqual([
      expect.stringMatching(
        /^graph "lost": no types of its schemas: lost\.ts:1:\d+: Cannot find module 'no-such/,
      ),
      expect.stringMatching(/^graph "part": no types of part: part\.ts:2:\d+: Cannot find module 'no-types'/),
    ]);
  });

  it('reads no file outside the agent, whatever its imports, links and settings name', async () => {
    const outside = join(root, 'outside');
    mkdirSync(outside, { recursive: true });
    writeFileSync(join(outside, 'secret.json'), '{ "password": "x" }');
    writeFileSync(join(outside, 'secret.ts'), 'export interface Secret { readonly password: string }');
    const state = (type: string): string =>
      `export const graph = new StateGraph(Annotation.Root({ found: Annotation<${type}> })).${NODE}.compile();`;
    const kept = await keep(
      {
        'langgraph.json': graphsOf({
          json: './json.ts:graph',
          types: './types.ts:graph',
          alias: './alias.ts:graph',
          link: './link.ts:graph',
        }),
        'tsconfig.json': JSON.stringify({ compilerOptions: { paths: { 'outer/*': [`${outside}/*`] } } }),
        'link.ts': `import { Annotation, StateGraph } from '@langchain/langgraph';\nimport type { Secret } from './linked.js';\n${state('Secret')}`,
        'json.ts': `import { Annotation, StateGraph } from '@langchain/langgraph';\nimport secret from '${outside}/secret.json';\n${state('typeof secret')}`,
        'types.ts': `import { Annotation, StateGraph } from '@langchain/langgraph';\nimport type { Secret } from '../outside/secret.js';\n${state('Secret')}`,
        'alias.ts': `import { Annotation, StateGraph } from '@langchain/langgraph';\nimport type { Secret } from 'outer/secret';\n${state('Secret')}`,
      },
      { 'linked.ts': join(outside, 'secret.ts') },
    );
    expect(Object.values(kept.graphs).map(({ state }) => state?.properties)).toEqual([
      { found: {} },
      { found: {} },
      { found: {} },
      { found: {} },
    ]);
    expect(JSON.stringify(kept)).not.toContain('password');
  });

  it('lets every user of a pod read what it keeps, whatever the umask', async () => {
    const before = process.umask(0o077);
    try {
      const folder = join(root, `agent-${made}`);
      await keep({ 'langgraph.json': graphsOf({ a: './a.ts:graph' }), 'a.ts': 'export const graph = 1;' });
      const modes = ['.agentplane', GRAPH_TYPES_FILE, GRAPH_SOURCES_FILE].map(
        (path) => statSync(join(folder, path)).mode & 0o777,
      );
      expect(modes).toEqual([0o755, 0o644, 0o644]);
    } finally {
      process.umask(before);
    }
  });

  it('writes through no link that a script of a package has made', async () => {
    const target = join(root, `linked-${made}`);
    mkdirSync(target);
    await keep({ 'langgraph.json': graphsOf({ a: './a.ts:graph' }), 'a.ts': '' }, { '.agentplane': target });
    expect(readdirSync(target)).toEqual([]);
  });

  it('says what is missing where it cannot be read', async () => {
    const folder = join(root, `agent-${made++}`);
    execFileSync('mkdir', [folder]);
    expect(await keepGraphTypes(join(folder, 'langgraph.json'), [], { isFinal: true })).toEqual([
      expect.stringMatching(/^schemas of graphs by their types: the compiler failed: Error: ENOENT/),
    ]);
  });
});
