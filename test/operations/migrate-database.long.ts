import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Client } from '@langchain/langgraph-sdk';
import pg from 'pg';
import { KubeClient, loadKubeConnection } from '#lib/kube';
import { SECRETS } from '#lib/resources';
import { temporaryFolder, testPostgres, waitFor } from '#lib/testing';
import { SAMPLE_AGENT, ServerProcess } from '../../apps/agent-server/testdata/start-server.js';
import { agentAt, deployed, type Deployment, urlOf } from '../e2e/walk-rows.js';
import { newDataFolder, removeDataFolder, repository, startPlatform } from '../support/platform.js';
import { Rest } from '../support/rest.js';

const NAME = 'moved';
const QUESTION = { messages: [{ role: 'user', content: 'what is 2 + 40?' }] };

describe('agentplane migrate database', () => {
  const postgres = testPostgres();
  const machine = newDataFolder();
  const uriFile = join(temporaryFolder(), 'uri');
  let uri = '';
  let threadId = '';
  let before: object;

  const agentplane = (...args: readonly string[]) => {
    const ran = spawnSync(process.execPath, ['bin/agentplane.js', ...args], {
      cwd: repository,
      encoding: 'utf8',
    });
    return { code: ran.status, stdout: ran.stdout, stderr: ran.stderr };
  };
  const migrate = (...more: readonly string[]) =>
    agentplane('migrate', 'database', NAME, '--data', machine, '--database-uri-file', uriFile, ...more);

  async function run(target: string, statement: string): Promise<void> {
    const client = new pg.Client({ connectionString: target });
    await client.connect();
    await client.query(statement);
    await client.end();
  }

  /** What a client sees of the thread, its runs, the item and the crons. */
  async function seen({ threads, runs, store, crons, assistants }: Client): Promise<object> {
    return {
      thread: await threads.get(threadId),
      state: await threads.getState(threadId),
      history: await threads.getHistory(threadId),
      runs: await runs.list(threadId),
      item: await store.getItem(['notes'], 'one'),
      crons: await crons.search(),
      assistants: (await assistants.search()).map(({ assistant_id: id, name }) => ({ id, name })),
    };
  }

  /** The URI of the deployment's own database, as its Secret has it. */
  async function databaseOf(kubeconfigPath: string): Promise<string> {
    const client = new KubeClient(await loadKubeConnection({ kubeconfigPath }), { fieldManager: 'test' });
    const { data } = await client.get(SECRETS, { namespace: 'ws-default', name: `${NAME}-database` });
    await client.close();
    return Buffer.from(data?.['POSTGRES_URI'] ?? '', 'base64').toString();
  }

  beforeAll(async () => {
    ({ uri } = await postgres.freshDatabase());
    writeFileSync(uriFile, `${uri}\n`, { mode: 0o600 });
    const platform = await startPlatform(machine);
    const rest = new Rest(platform.credentials);
    const { body } = await rest.post<Deployment>('/v2/deployments', {
      name: NAME,
      source: 'internal_image',
      source_config: {},
      source_revision_config: { image_uri: 'sample-agent' },
      secrets: [],
    });
    await deployed(rest, body.id, body.latest_revision_id ?? '');
    const client = agentAt({ rest, reach: (same) => same }, await urlOf(rest, body.id));
    ({ thread_id: threadId } = await client.threads.create({ metadata: { owner: 'é' } }));
    for (let i = 0; i < 2; i++) await client.runs.wait(threadId, 'agent', { input: QUESTION });
    await client.store.putItem(['notes'], 'one', { text: 'kept' });
    await client.crons.createForThread(threadId, 'agent', { schedule: '0 9 1 1 *', input: QUESTION });
    await client.assistants.create({ graphId: 'agent', name: 'mine' });
    await run(await databaseOf(platform.credentials.kubeconfig), 'CREATE TABLE notes (id int)');
    before = await seen(client);
    const refused = migrate();
    await platform.stop();
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('is running; stop it with')]);
  });

  afterAll(() => {
    removeDataFolder(machine);
  });

  it.each([
    [['migrate', 'database', NAME], 2, 'the other database is missing: name a file'],
    [['migrate', 'database'], 2, 'missing required argument'],
    [
      ['migrate', 'database', 'other', '--database-uri-file', uriFile],
      1,
      `deployment other does not exist on this machine; choose one of: ws-default/${NAME}`,
    ],
    [
      ['migrate', 'database', NAME, '--workspace', 'no', '--database-uri-file', uriFile],
      1,
      'does not exist in workspace no of this machine',
    ],
  ])('refuses %j', (words, code, message) => {
    const found = agentplane(...words, '--data', machine);
    expect([found.code, found.stderr]).toEqual([code, expect.stringContaining(message)]);
  });

  it('refuses a table that the agent itself has made, until it was copied', async () => {
    const refused = migrate();
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringContaining('the source has table public.notes, which no agent server made'),
    ]);
    await run(uri, 'CREATE TABLE notes (id int)');
  });

  it('moves threads, runs, items and crons to a server that answers with the same state', async () => {
    const moved = migrate();
    expect(moved).toMatchObject({ code: 0 });
    expect(moved.stdout).toMatch(/^threads: 1 rows on both sides$/m);
    expect(moved.stdout).toMatch(/^runs: 2 rows on both sides$/m);
    expect(moved.stdout).toMatch(/^crons: 1 rows on both sides$/m);
    expect(moved.stdout).toMatch(/\nCopied \d+ rows of deployment moved; all of them are committed\.\n/);
    expect(moved.stdout).toMatch(/Deployment moved of this machine is not suspended: suspend or delete/);
    const server = await ServerProcess.start({ uri, folder: SAMPLE_AGENT });
    try {
      const client = server.client();
      expect(await seen(client)).toEqual(before);
      const again = await client.runs.wait(threadId, 'agent', { input: QUESTION });
      expect(again).toMatchObject({ messages: expect.arrayContaining([expect.anything()]) });
      await waitFor(async () => (await client.runs.list(threadId)).length === 3, { what: 'the run' });
      before = await seen(client);
    } finally {
      await server.stop();
    }
    const second = migrate();
    expect([second.code, second.stderr]).toEqual([1, expect.stringContaining('the target is not empty')]);
  });

  it('moves back what was added there, into a database that was emptied', async () => {
    const refused = migrate('--back');
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('the target is not empty')]);
    // the way that the refusal names, for one who wants to lose these rows
    const platform = await startPlatform(machine);
    const rest = new Rest(platform.credentials);
    const { body } = await rest.get<{ resources: readonly Deployment[] }>('/v2/deployments');
    const { id = '' } = body.resources.find(({ name }) => name === NAME) ?? {};
    const own = await databaseOf(platform.credentials.kubeconfig);
    await rest.patch(`/v2/deployments/${id}`, { suspend: true });
    await run(own, 'DROP SCHEMA agentplane CASCADE');
    await platform.stop();
    const moved = migrate('--back');
    expect(moved).toMatchObject({ code: 0 });
    expect(moved.stdout).toMatch(/^runs: 3 rows on both sides$/m);
    const again = await startPlatform(machine);
    try {
      const reached = new Rest(again.credentials);
      await reached.patch(`/v2/deployments/${id}`, { suspend: false });
      const client = agentAt({ rest: reached, reach: (same) => same }, await urlOf(reached, id));
      await waitFor(() => client.threads.get(threadId).catch(() => undefined), {
        timeoutMs: 90_000,
        what: 'the agent',
      });
      expect(await seen(client)).toEqual(before);
    } finally {
      await again.stop();
    }
  });
});
