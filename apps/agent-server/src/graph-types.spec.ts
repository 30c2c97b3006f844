import { rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { GraphSchema } from '@langchain/langgraph-sdk';
import type { AssistantsClient } from '@langchain/langgraph-sdk/client';
import { INSTALLATION, packagesOf } from '#lib/data-folder';
import { GRAPH_TYPES_FILE } from '#lib/graph-configuration';
import { keepGraphTypes } from '#lib/image-store';
import { temporaryFolder, testPostgres } from '#lib/testing';
import { ServerProcess } from '../testdata/start-server.js';
import { prepareDatabase } from '../testdata/store-fixture.js';

const SOURCE = `
import { Annotation, interrupt, MessagesAnnotation, StateGraph } from '@langchain/langgraph';
import { z } from 'zod';
type Kind = 'town' | 'city';
const State = Annotation.Root({
  ...MessagesAnnotation.spec,
  topic: Annotation<string>,
  kind: Annotation<Kind>({ reducer: (a: Kind, b: Kind) => b, default: () => 'town' }),
  listed: Annotation<any>({ reducer: (a: any, b: any) => b, default: () => [] }),
});
const Config = Annotation.Root({ model: Annotation<string> });
const inner = new StateGraph(Annotation.Root({ deep: Annotation<boolean> }))
  .addNode('a', () => ({ deep: true })).addEdge('__start__', 'a').compile();
export const graph = new StateGraph(State, Config)
  .addNode('inner', inner as never).addEdge('__start__', 'inner').compile();
export const outer = new StateGraph(State).addNode('inner', inner).addEdge('__start__', 'inner').compile();
export const choosing = new StateGraph(State)
  .addNode('ask', () => {
    const responseSchema = z.object({ colour: z.enum(['red', 'blue']) });
    return { topic: interrupt<string, { colour: string }>('which colour?', { responseSchema }).colour };
  })
  .addEdge('__start__', 'ask').compile();
export const zod = new StateGraph(z.object({ topic: z.string().describe('of Zod') }))
  .addNode('a', () => ({})).addEdge('__start__', 'a').compile();
`;

const postgres = testPostgres();
const folder = temporaryFolder();
const modules = packagesOf(INSTALLATION);
let server: ServerProcess;
let assistants: AssistantsClient;

beforeAll(async () => {
  const graphs = {
    graph: './graph.ts:graph',
    outer: './graph.ts:outer',
    choosing: './graph.ts:choosing',
    zod: './graph.ts:zod',
  };
  writeFileSync(join(folder, 'langgraph.json'), JSON.stringify({ graphs }));
  writeFileSync(join(folder, 'graph.ts'), SOURCE);
  symlinkSync(modules, join(folder, 'node_modules'));
  expect(await keepGraphTypes(join(folder, 'langgraph.json'), [modules], { isFinal: true })).toEqual([]);
  const { uri } = await postgres.freshDatabase(prepareDatabase);
  server = await ServerProcess.start({ uri, folder });
  ({ assistants } = server.client());
});

afterAll(() => server?.stop('SIGKILL'));

const fieldsOf = (schema: GraphSchema['state_schema']) => schema?.properties;

describe('the description of a TypeScript graph', () => {
  it('has the types of annotations, and what channels show where a type says nothing', async () => {
    const { state_schema, input_schema, config_schema, context_schema } =
      await assistants.getSchemas('graph');
    const fields = {
      messages: { type: 'array', items: { $ref: '#/definitions/BaseMessage' }, langgraph_type: 'messages' },
      topic: { type: 'string' },
      kind: { type: 'string', enum: expect.arrayContaining(['town', 'city']) as unknown[] },
      listed: { type: 'array' },
    };
    expect(fieldsOf(state_schema)).toEqual(fields);
    expect(fieldsOf(input_schema)).toEqual(fields);
    expect(fieldsOf(config_schema)).toEqual({ model: { type: 'string' } });
    expect(context_schema).toEqual(config_schema);
  });

  it('comes from Zod where that made the state', async () => {
    const { input_schema } = await assistants.getSchemas('zod');
    expect(fieldsOf(input_schema)).toMatchObject({ topic: { type: 'string', description: 'of Zod' } });
  });

  it('includes graphs inside graphs', async () => {
    const { inner } = await assistants.getSubgraphs('outer');
    expect(fieldsOf(inner?.state_schema ?? null)).toEqual({ deep: { type: 'boolean' } });
  });

  it('shows the schema of the answer that a question asks for', async () => {
    const client = server.client();
    const { thread_id: threadId } = await client.threads.create();
    await client.runs.wait(threadId, 'choosing', { input: { topic: '' } });
    const shown = {
      value: 'which colour?',
      response_schema: { properties: { colour: { enum: ['red', 'blue'] } } },
    };
    const { tasks } = await client.threads.getState(threadId);
    expect(tasks[0]?.interrupts).toMatchObject([shown]);
    expect(Object.values((await client.threads.get(threadId)).interrupts)).toMatchObject([[shown]]);
    expect(
      await client.runs.wait(threadId, 'choosing', { command: { resume: { colour: 'red' } } }),
    ).toMatchObject({
      topic: 'red',
    });
  });

  it('names the fields alone for an agent that was taken without its types', async () => {
    rmSync(join(folder, GRAPH_TYPES_FILE));
    const { state_schema, config_schema } = await assistants.getSchemas('graph');
    expect(fieldsOf(state_schema)).toMatchObject({
      messages: { type: 'array' },
      topic: {},
      kind: { type: 'string' },
    });
    expect(config_schema).toBeNull();
  });
});
