import { execFile, execFileSync } from 'node:child_process';
import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { waitFor } from '#lib/testing';
import {
  newDataFolder,
  type Platform,
  removeDataFolder,
  repository,
  startPlatform,
} from '../support/platform.js';
import { Rest } from '../support/rest.js';

const run = promisify(execFile);

interface Export {
  readonly id: string;
  readonly status: string;
}

/** Names of all files below the folder that end so. */
function filesOf(folder: string, suffix: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(suffix))
    .sort();
}

/** What a user has: found again, or lost. */
async function belongings(platform: Platform, key: string): Promise<unknown> {
  const rest = new Rest({ ...platform.credentials, apiKey: key });
  const names = async (path: string): Promise<unknown> => {
    const { status, body } = await rest.get<unknown>(path);
    expect([path, status]).toEqual([path, 200]);
    return body;
  };
  const sessions = (await names('/sessions?name=sample')) as readonly { readonly id: string }[];
  const exports = (await names('/api/v1/bulk-exports')) as readonly Export[];
  return {
    session: sessions.map(({ id }) => id),
    exports: exports.map(({ id, status }) => [id, status]),
    keys: ((await names('/api/v1/api-key')) as readonly { readonly id: string }[]).map(({ id }) => id),
    files: filesOf(join(platform.dataFolder, 'objects'), '.parquet'),
  };
}

describe('a data folder that was copied while nothing ran', () => {
  const original = newDataFolder();
  const place = newDataFolder();
  const copy = join(place, 'restored here');
  let platform: Platform;
  let before: unknown;
  let key: string;
  let threadId: string;

  async function agentplane(...words: string[]): Promise<string> {
    const flags = ['--data', platform.dataFolder];
    const { stdout } = await run(process.execPath, ['bin/agentplane.js', ...words, ...flags], {
      cwd: repository,
    });
    return stdout.trim();
  }

  async function agent(path: string, body?: unknown): Promise<Record<string, unknown>> {
    const url = await agentplane('get', 'adep', 'sample', '-o', 'jsonpath={.status.url}');
    const answer = await fetch(`${url}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return (await answer.json()) as Record<string, unknown>;
  }

  beforeAll(async () => {
    platform = await startPlatform(original);
    key = platform.credentials.apiKey;
    await agentplane('deploy', 'sample', '--image', 'sample-agent');
    threadId = String((await agent('/threads', {}))['thread_id']);
    const input = { messages: [{ role: 'user', content: 'what is 2 + 40?' }] };
    await agent(`/threads/${threadId}/runs/wait`, { assistant_id: 'agent', input });
    const rest = new Rest(platform.credentials);
    await waitFor(
      async () => {
        const { body } = await rest.get<unknown[]>('/sessions?name=sample');
        return body.length > 0;
      },
      { what: 'the project' },
    );
    await agentplane('export', 'create', 'kept', '--project', 'sample', '--wait');
    before = await belongings(platform, key);
    expect(await platform.stop()).toBe(0);

    // as root the server of the databases is another user, who must be able to go there
    chmodSync(place, 0o755);
    execFileSync('cp', ['-a', original, copy]);
    // the original stays where it is, as it would; the copy is of the first format, which recorded no version
    writeFileSync(join(copy, 'format.json'), '{"version": 1}');
    platform = await startPlatform(copy);
  });

  afterAll(async () => {
    await platform.stop();
    removeDataFolder(original);
    removeDataFolder(place);
  });

  it('has its keys, projects, exports and files', async () => {
    expect(await belongings(platform, key)).toEqual(before);
    expect(before).toMatchObject({
      session: [expect.any(String)],
      exports: [[expect.any(String), 'COMPLETED']],
      files: expect.arrayContaining([expect.any(String)]) as unknown,
    });
  });

  it('runs its deployments, which have their threads', async () => {
    expect(await agentplane('deploy', 'sample', '--image', 'sample-agent')).toContain('serves');
    const state = await agent(`/threads/${threadId}/state`);
    expect(JSON.stringify(state['values'])).toContain('"content":"42"');
  });

  it('was copied once more before this version changed it', () => {
    const kept = join(copy, 'backups', 'first');
    expect(existsSync(join(kept, 'postgres', 'PG_VERSION'))).toBe(true);
    expect(readFileSync(join(kept, 'files', 'credentials.json'), 'utf8')).toContain(key);
    const { version } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as {
      readonly version: string;
    };
    expect(JSON.parse(readFileSync(join(copy, 'format.json'), 'utf8'))).toEqual({
      version: 1,
      platform: version,
    });
  });
});
