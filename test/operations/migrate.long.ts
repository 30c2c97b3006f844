import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'langsmith';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createLogger } from '#lib/telemetry';
import { temporaryFolder, testPostgres, waitFor } from '#lib/testing';
import { systemClock } from '#lib/time';
import { openTraceStore } from '#lib/trace-store';
import {
  type Credentials,
  newDataFolder,
  removeDataFolder,
  repository,
  startPlatform,
} from '../support/platform.js';

const RUN = '0192f0c1-7b1e-4c5d-9a55-5d2f6c1e0a01';

describe('agentplane migrate traces', () => {
  const postgres = testPostgres();
  const folder = temporaryFolder();
  const [machine, empty] = [newDataFolder(), newDataFolder()];
  const uriFile = join(folder, 'uri');
  let uri = '';
  let credentials: Credentials;

  const agentplane = (args: readonly string[]) => {
    const ran = spawnSync(process.execPath, ['bin/agentplane.js', ...args], {
      cwd: repository,
      encoding: 'utf8',
    });
    return { code: ran.status, stdout: ran.stdout, stderr: ran.stderr };
  };
  const migrate = (data: string, ...more: readonly string[]) =>
    agentplane(['migrate', 'traces', '--data', data, '--database-uri-file', uriFile, ...more]);
  beforeAll(async () => {
    ({ uri } = await postgres.freshDatabase());
    writeFileSync(uriFile, `${uri}\n`, { mode: 0o600 });
    const platform = await startPlatform(machine);
    ({ credentials } = platform);
    const client = new Client({
      apiUrl: credentials.restUrl,
      apiKey: credentials.apiKey,
      autoBatchTracing: false,
    });
    await client.createRun({
      id: RUN,
      trace_id: RUN,
      name: 'moved',
      run_type: 'chain',
      project_name: 'kept',
      inputs: { question: 'é' },
      start_time: Date.now(),
    });
    await waitFor(() => client.readRun(RUN), { what: 'the run' });
    const refused = migrate(machine);
    await platform.stop();
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('is running; stop it with')]);
  });

  afterAll(() => {
    for (const each of [machine, empty]) removeDataFolder(each);
  });

  it('moves keys and runs of a stopped machine into another database, once', async () => {
    const first = migrate(machine);
    expect(first).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Copied \d+ rows of 1 tenants/) });
    expect(first.stdout).toContain(`\ntenant ${credentials.tenantId}\n`);
    expect(first.stdout).toMatch(/scaled to 0 during the copy\. .* restart it now\.\n$/);
    const store = openTraceStore({
      uri,
      poolSize: 2,
      log: createLogger('test', 'silent'),
      clock: systemClock,
    });
    try {
      const { tenantId } = credentials;
      expect(await store.apiKeys.verify(credentials.apiKey)).toMatchObject({ tenantId });
      expect(await store.projects.find(tenantId, { name: 'kept' })).toMatchObject({ name: 'kept' });
    } finally {
      await store.close();
    }
    const second = migrate(machine);
    expect(second).toMatchObject({ code: 1, stderr: expect.stringContaining('has rows of tenant') });
  });

  it('moves them back into another machine, where the key reads them once its workspace exists', async () => {
    const started = await startPlatform(empty);
    await started.stop();
    const answer = migrate(empty, '--back');
    expect(answer).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Copied \d+ rows of 1 tenants/) });
    expect(answer.stdout).toMatch(/scaled to 0 during the copy\. .* was not copied\.\n$/);
    const platform = await startPlatform(empty);
    try {
      const { tenantId } = credentials;
      const made = ['workspace', 'create', 'moved', '--tenant', tenantId, '--no-listener', '--data', empty];
      expect(agentplane(made)).toMatchObject({ code: 0 });
      const found = JSON.parse(readFileSync(join(empty, 'credentials.json'), 'utf8')) as Credentials;
      const answered = await fetch(`${found.restUrl}/sessions?name=kept`, {
        headers: { 'x-api-key': credentials.apiKey },
      });
      expect([answered.status, await answered.json()]).toEqual([
        200,
        [expect.objectContaining({ name: 'kept' })],
      ]);
    } finally {
      await platform.stop();
    }
  });
});
