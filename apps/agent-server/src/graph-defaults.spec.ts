import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openConnection } from '#lib/postgres';
import { temporaryFolder, testPostgres } from '#lib/testing';
import { ServerProcess } from '../testdata/start-server.js';
import { prepareDatabase } from '../testdata/store-fixture.js';

const MOUNTED = join(import.meta.dirname, '..', 'testdata', 'mounted');
const postgres = testPostgres();
const folder = temporaryFolder();

describe('variables of the vendor', () => {
  it('gives the assistants of graphs their configuration, anew at each start', async () => {
    const { uri } = await postgres.freshDatabase(prepareDatabase);
    const startWith = async (env: Record<string, string>): Promise<unknown> => {
      const server = await ServerProcess.start({ uri, env });
      try {
        const client = server.client();
        const [found, ...more] = await client.assistants.search({ graphId: 'chat' });
        const versions = await client.assistants.getVersions(found?.assistant_id ?? '');
        expect([more, versions.map(({ config }) => config)]).toEqual([[], [found?.config]]);
        return { config: found?.config, context: found?.context };
      } finally {
        await server.stop('SIGKILL');
      }
    };
    const chat = { configurable: { model_name: 'openai' }, tags: ['a'], context: { plan: 'pro' } };
    expect(await startWith({ LANGGRAPH_CONFIG: JSON.stringify({ chat }) })).toEqual({
      config: { configurable: { model_name: 'openai' }, tags: ['a'] },
      context: { plan: 'pro' },
    });
    expect(await startWith({})).toEqual({ config: {}, context: {} });
  });

  it('writes no assistant at a start that changes none', async () => {
    const { uri } = await postgres.freshDatabase(prepareDatabase);
    const writtenBy = async (env: Record<string, string>): Promise<unknown> => {
      const server = await ServerProcess.start({ uri, env });
      await server.stop('SIGKILL');
      const connection = await openConnection({ uri, applicationName: 'test' });
      const tables = ['assistants', 'assistant_versions'].map(
        (name) => `SELECT xmin::text FROM agentplane.${name}`,
      );
      const { rows } = await connection.query(`${tables.join(' UNION ALL ')} ORDER BY 1`);
      await connection.end();
      return rows;
    };
    const first = await writtenBy({});
    expect(await writtenBy({})).toEqual(first);
    const changed = { chat: { tags: ['b'] } };
    expect(await writtenBy({ LANGGRAPH_CONFIG: JSON.stringify(changed) })).not.toEqual(first);
  });

  it('reaches runs from the variables of langgraph.json', async () => {
    const { uri } = await postgres.freshDatabase(prepareDatabase);
    const server = await ServerProcess.start({ uri, folder: MOUNTED });
    try {
      const body = JSON.stringify({ assistant_id: 'seen', input: {} });
      const headers = { 'content-type': 'application/json' };
      const answer = await fetch(`${server.url}/team/agent/runs/wait`, { method: 'POST', headers, body });
      expect(await answer.json()).toMatchObject({ seen: { model_name: 'openai' } });
    } finally {
      await server.stop('SIGKILL');
    }
  });

  it('begins no server with a key that is to encrypt states', async () => {
    const path = join(folder, 'termination');
    const env = { LANGGRAPH_AES_KEY: 'secret-key', TERMINATION_MESSAGE_PATH: path };
    expect(await ServerProcess.startAndEnd({ uri: 'postgres://127.0.0.1:9/none', env })).toBe(78);
    const message = readFileSync(path, 'utf8');
    expect(message).toMatch(/LANGGRAPH_AES_KEY: states are stored as they are/);
    expect(message).not.toContain('secret-key');
  });

  it.each([
    ['text that is no JSON', '{chat}', /LANGGRAPH_CONFIG: it is not JSON/],
    ['a graph that does not exist', '{"absent":{}}', /LANGGRAPH_CONFIG: the agent has no graph absent/],
    ['a wrong configuration', '{"chat":{"recursion_limit":0}}', /graph \\"chat\\": .*recursion_limit/s],
  ])('refuses to start with %s', async (_title, text, message) => {
    const path = join(folder, 'termination');
    const env = { LANGGRAPH_CONFIG: text, TERMINATION_MESSAGE_PATH: path };
    // graphs are loaded before the database is needed
    expect(await ServerProcess.startAndEnd({ uri: 'postgres://127.0.0.1:9/none', env })).toBe(78);
    expect(readFileSync(path, 'utf8')).toMatch(message);
  });
});
