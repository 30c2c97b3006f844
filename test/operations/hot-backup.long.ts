import { createHash, randomUUID } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { waitFor } from '#lib/testing';
import { agentplane, type Ending } from '../cli/agentplane.js';
import { newDataFolder, type Platform, removeDataFolder, startPlatform } from '../support/platform.js';
import { Rest } from '../support/rest.js';

/** A trace of one run with an attachment. */
function newRun(project: string): Record<string, unknown> & { readonly id: string } {
  const id = randomUUID();
  const time = new Date().toISOString();
  return {
    id,
    trace_id: id,
    dotted_order: `${time.replace(/[-:.]/g, '').replace('Z', '000Z')}${id}`,
    name: 'written while the backup ran',
    run_type: 'chain',
    session_name: project,
    start_time: time,
    end_time: time,
    inputs: { text: id.repeat(50) },
  };
}

async function sendWithAttachment(platform: Platform, content: string): Promise<string> {
  const run = newRun('attached');
  const form = new FormData();
  const part = (name: string, value: string, type: string): void =>
    form.append(name, new Blob([value], { type }), name);
  const { inputs, ...rest } = run;
  part(`post.${run.id}`, JSON.stringify(rest), 'application/json');
  part(`post.${run.id}.inputs`, JSON.stringify(inputs), 'application/json');
  part(`attachment.${run.id}.note`, content, `text/plain; length=${content.length}`);
  const { status } = await fetch(`${platform.credentials.restUrl}/runs/multipart`, {
    method: 'POST',
    headers: { 'x-api-key': platform.credentials.apiKey },
    body: form,
  });
  expect(status).toBe(202);
  return run.id;
}

/** Content hashes of all exported files, by the end of their keys. */
function hashesOf(folder: string): Readonly<Record<string, string>> {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.parquet'),
  );
  return Object.fromEntries(
    names.sort().map((name) => [
      name,
      createHash('sha256')
        .update(readFileSync(join(folder, name)))
        .digest('hex'),
    ]),
  );
}

describe('a backup of a platform that works', () => {
  const original = newDataFolder();
  const place = newDataFolder();
  const copy = join(place, 'restored here');
  const backup = join(place, 'backup');
  const passphrase = join(place, 'passphrase');
  let platform: Platform;
  let restored: Platform | undefined;
  let threadId: string;
  let attached: string;
  let endedCold: Ending | undefined;
  const before: string[] = [];

  async function urlOf(one: Platform): Promise<string> {
    const words = ['get', 'adep', 'sample', '-o', 'jsonpath={.status.url}', '--data', one.dataFolder];
    return (await agentplane(words)).output.trim();
  }

  async function agent(one: Platform, path: string, body?: unknown): Promise<Record<string, unknown>> {
    const answer = await fetch(`${await urlOf(one)}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { 'x-api-key': platform.credentials.apiKey, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return (await answer.json()) as Record<string, unknown>;
  }

  beforeAll(async () => {
    // as root the server of the databases is another user, who must be able to go there
    chmodSync(place, 0o755);
    platform = await startPlatform(original);
    const flags = ['--data', original];
    expect(await agentplane(['deploy', 'sample', '--image', 'sample-agent', ...flags])).toMatchObject({
      code: 0,
    });
    threadId = String((await agent(platform, '/threads', {}))['thread_id']);
    const input = { messages: [{ role: 'user', content: 'what is 2 + 40?' }] };
    await agent(platform, `/threads/${threadId}/runs/wait`, { assistant_id: 'agent', input });
    attached = await sendWithAttachment(platform, 'kept with its run');
    const rest = new Rest(platform.credentials);
    await waitFor(async () => (await rest.get<unknown[]>('/sessions?name=sample')).body.length > 0, {
      what: 'the project',
    });
    expect(
      await agentplane(['export', 'create', 'kept', '--project', 'sample', '--wait', ...flags]),
    ).toMatchObject({ code: 0 });

    let isLoaded = true;
    const load = (async () => {
      while (isLoaded) {
        const post = Array.from({ length: 20 }, () => newRun('loaded'));
        const { status } = await rest.post('/runs/batch', { post, patch: [] });
        if (status === 202) before.push(...post.map(({ id }) => id));
        await agent(platform, `/threads/${threadId}/runs/wait`, { assistant_id: 'agent', input });
      }
    })();
    const taken = await agentplane(['backup', ...flags, '--to', backup]);
    isLoaded = false;
    await load;
    expect(taken).toMatchObject({ code: 0, output: expect.stringContaining('Backup complete') as unknown });
    // beside the original, which still runs: its ports are taken
    const ending = await agentplane(['restore', backup, '--data', copy]);
    expect(ending).toMatchObject({
      code: 0,
      complaint: expect.stringContaining('ports that are taken') as unknown,
    });
    restored = await startPlatform(copy);
  });

  afterAll(async () => {
    await restored?.stop();
    await platform.stop();
    removeDataFolder(original);
    removeDataFolder(place);
  });

  function copyOfPlatform(): Platform {
    if (!restored) throw new Error('the restored platform did not start');
    return restored;
  }

  it('keeps its files from all other users', () => {
    expect(statSync(backup).mode & 0o777).toBe(0o700);
    for (const name of readdirSync(backup))
      expect([name, statSync(join(backup, name)).mode & 0o777]).toEqual([name, 0o600]);
  });

  it('verifies', async () => {
    const { code, output } = await agentplane(['backup', 'verify', backup]);
    expect([code, output]).toEqual([0, expect.stringMatching(/entries, .*; all as written/)]);
  });

  it('restores keys, ids, exports with their files, and attachments', async () => {
    const { credentials, dataFolder } = copyOfPlatform();
    expect(credentials).toMatchObject({
      apiKey: platform.credentials.apiKey,
      tenantId: platform.credentials.tenantId,
    });
    expect(credentials.restUrl).not.toBe(platform.credentials.restUrl);
    const [here, there] = [credentials, platform.credentials].map((one) => new Rest(one));
    for (const path of ['/api/v1/bulk-exports', '/api/v1/api-key', '/sessions?name=sample']) {
      const ids = async (rest: Rest | undefined): Promise<unknown> => {
        const { body } = (await rest?.get<readonly { id: string; status?: string }[]>(path)) ?? {};
        return body?.map(({ id, status }) => [id, status]);
      };
      expect([path, await ids(here)]).toEqual([path, await ids(there)]);
    }
    const files = hashesOf(join(dataFolder, 'objects', 'agentplane'));
    expect(Object.keys(files).length).toBeGreaterThan(0);
    expect(files).toEqual(hashesOf(join(original, 'objects', 'agentplane')));
    const { body } =
      (await here?.get<{ s3_urls?: Record<string, { presigned_url: string }> }>(`/runs/${attached}`)) ?? {};
    const url = Object.values(body?.s3_urls ?? {})[0]?.presigned_url ?? '';
    expect(url.startsWith(credentials.restUrl)).toBe(true);
    expect(await (await fetch(url)).text()).toBe('kept with its run');
  });

  it('restores traces of one moment: each that was stored before, whole', async () => {
    const rest = new Rest(copyOfPlatform().credentials);
    const found = await Promise.all(
      before.map(async (id) => {
        const { status, body } = await rest.get<{ inputs?: { text?: string } }>(`/runs/${id}`);
        return status === 200 ? body.inputs?.text === id.repeat(50) : undefined;
      }),
    );
    expect(found.length).toBeGreaterThan(20);
    expect(found).not.toContain(false);
    // the moment is somewhere among them: all before it are there, none after it
    const first = found.indexOf(undefined);
    expect(found.slice(first < 0 ? found.length : first + 20).filter((one) => one !== undefined)).toEqual([]);
    expect(first === -1 || first >= 20).toBe(true);
  });

  it('serves its deployments from its own database, with their threads', async () => {
    const one = copyOfPlatform();
    await waitFor(
      async () => {
        const words = [
          'get',
          'adep',
          'sample',
          '-o',
          'jsonpath={.status.conditions[?(@.type=="Ready")].status}',
        ];
        return (await agentplane([...words, '--data', copy])).output.trim() === 'True';
      },
      { what: 'the deployment' },
    );
    expect(await urlOf(one)).not.toBe(await urlOf(platform));
    const state = await agent(one, `/threads/${threadId}/state`);
    expect(JSON.stringify(state['values'])).toContain('"content":"42"');
    const made = String((await agent(one, '/threads', {}))['thread_id']);
    expect((await agent(platform, `/threads/${made}`))['thread_id']).toBeUndefined();
  });

  it('refuses folders that hold something, and a platform that runs', async () => {
    const again = await agentplane(['backup', '--data', original, '--to', backup]);
    expect(again).toMatchObject({
      code: 1,
      complaint: expect.stringContaining('holds a complete backup') as unknown,
    });
    const over = await agentplane(['restore', backup, '--data', copy]);
    expect(over).toMatchObject({ code: 1, complaint: expect.stringContaining('is not empty') as unknown });
    const forced = await agentplane(['restore', backup, '--data', copy, '--force']);
    expect(forced).toMatchObject({
      code: 1,
      complaint: expect.stringMatching(/is in use by process \d+/) as unknown,
    });
    const missing = await agentplane(['backup', '--data', original]);
    expect(missing).toMatchObject({ code: 2, complaint: expect.stringContaining('--to FOLDER') as unknown });
  });

  it('refuses damaged and cut files with the place', async () => {
    const damaged = join(place, 'damaged');
    const spoil = async (change: (folder: string) => void): Promise<string> => {
      cpSync(backup, damaged, { recursive: true });
      change(damaged);
      const { code, complaint } = await agentplane(['backup', 'verify', damaged]);
      expect(code).toBe(1);
      removeDataFolder(damaged);
      return complaint;
    };
    const part = 'databases.tar.zst';
    const byte = (folder: string): void => {
      const content = readFileSync(join(folder, part));
      content.writeUInt8(content.readUInt8(4_500_000) ^ 1, 4_500_000);
      writeFileSync(join(folder, part), content);
    };
    expect(await spoil(byte)).toMatch(/databases\.tar\.zst is damaged between byte 4194304 and byte \d+/);
    expect(await spoil((folder) => truncateSync(join(folder, part), 1_000))).toMatch(
      /has 1000 bytes, expected \d+: the file was cut/,
    );
    const changed = (folder: string): void => {
      const path = join(folder, 'backup.json');
      writeFileSync(path, readFileSync(path, 'utf8').replace('"postgres": "18"', '"postgres": "17"'));
    };
    expect(await spoil(changed)).toContain('was changed after it was written');
    const swapped = (folder: string): void =>
      copyFileSync(join(folder, 'files.tar.zst'), join(folder, 'images.tar.zst'));
    expect(await spoil(swapped)).toMatch(/images\.tar\.zst has \d+ bytes, expected \d+/);
  });

  it('copies a platform that is down, encrypted, and restores it in place of another folder', async () => {
    await restored?.stop();
    restored = undefined;
    const cold = join(place, 'cold');
    writeFileSync(passphrase, 'a long passphrase\n');
    const words = ['backup', '--data', copy, '--to', cold, '--passphrase-file', passphrase, '--audit-log'];
    endedCold = await agentplane(words);
    expect(endedCold).toMatchObject({
      code: 0,
      complaint: expect.stringContaining('the platform is not running') as unknown,
    });
    expect(readdirSync(cold).filter((name) => name.endsWith('.zst'))).toEqual([]);
    const open = await agentplane(['backup', 'verify', cold]);
    expect(open).toMatchObject({ code: 1, complaint: expect.stringContaining('is encrypted') as unknown });
    const wrong = join(place, 'wrong');
    writeFileSync(wrong, 'another passphrase\n');
    const other = await agentplane(['backup', 'verify', cold, '--passphrase-file', wrong]);
    expect(other).toMatchObject({
      code: 1,
      complaint: expect.stringContaining('the passphrase is not that of this backup') as unknown,
    });
    const filled = join(place, 'filled');
    mkdirSync(filled);
    writeFileSync(join(filled, 'former'), 'kept');
    const ending = await agentplane([
      'restore',
      cold,
      '--data',
      filled,
      '--force',
      '--passphrase-file',
      passphrase,
    ]);
    expect(ending.code).toBe(0);
    const [, aside = ''] = /What was in the folder is in (.*)\./.exec(ending.output) ?? [];
    expect(readFileSync(join(aside, 'former'), 'utf8')).toBe('kept');
    expect(existsSync(join(filled, 'restoring.json'))).toBe(false);
    expect(readdirSync(join(filled, 'logs')).some((name) => name.startsWith('audit'))).toBe(true);
    expect(readFileSync(join(filled, 'credentials.json'), 'utf8')).toContain(platform.credentials.apiKey);
  });
});
