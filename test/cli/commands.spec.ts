import { randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KubeClient, loadKubeConnection } from '#lib/kube';
import { RESOURCES } from '#lib/resources';
import { newDataFolder, type Platform, removeDataFolder, startPlatform } from '../support/platform.js';
import { waitUntil } from '../support/wait-until.js';
import { agentplane, type Ending } from './agentplane.js';

/** Every command against a platform that really runs; one for all of them, in this order. */
describe('agentplane with a platform', () => {
  let platform: Platform;
  let client: KubeClient;
  const folder = mkdtempSync(join(tmpdir(), 'agentplane-commands-'));
  const contexts = { XDG_CONFIG_HOME: join(folder, 'config') };

  beforeAll(async () => {
    platform = await startPlatform(newDataFolder());
    const connection = await loadKubeConnection({ kubeconfigPath: platform.credentials.kubeconfig });
    client = new KubeClient(connection);
  }, 180_000);
  afterAll(async () => {
    await client?.close();
    await platform?.stop();
    removeDataFolder(platform?.dataFolder);
    rmSync(folder, { recursive: true, force: true });
  }, 60_000);

  /** Against the data folder; one that must end well. */
  async function run(...words: string[]): Promise<string> {
    const ending = await attempt(...words);
    if (ending.code !== 0)
      throw new Error(`${words.join(' ')} ended with ${ending.code}: ${ending.complaint}`);
    return ending.output;
  }

  function attempt(...words: string[]): Promise<Ending> {
    return agentplane([...words, '--data', platform.dataFolder]);
  }

  const statusOf = async (apiKey: string): Promise<number> =>
    (await fetch(`${platform.credentials.restUrl}/sessions`, { headers: { 'x-api-key': apiKey } })).status;

  describe('status', () => {
    it('reports every part, and ends with 0 when all are ready', async () => {
      const parts = JSON.parse(await run('status', '-o', 'json')) as { part: string; state: string }[];
      expect(parts.map(({ part }) => part)).toEqual(
        expect.arrayContaining(['supervisor', 'rest', 'object-store', 'kubernetes', 'listener/default']),
      );
      expect(parts.every(({ state }) => ['ok', 'ready'].includes(state))).toBe(true);
    });
  });

  describe('keys', () => {
    it('creates a key that opens the workspace until it is revoked', async () => {
      const made = await attempt('keys', 'create', 'laptop');
      const key = made.output.trim();
      expect(await statusOf(key)).toBe(200);
      const listed = JSON.parse(await run('keys', 'list', '-o', 'json')) as {
        id: string;
        description: string;
        kind: string;
      }[];
      expect(listed.map(({ description, kind }) => `${kind} ${description}`)).toEqual(
        expect.arrayContaining(['person laptop', 'person first key']),
      );
      expect(JSON.stringify(listed)).not.toContain(key);
      const id = listed.find(({ description }) => description === 'laptop')?.id ?? '';
      expect(made.complaint).toContain(`agentplane keys revoke ${id}`);
      await run('keys', 'revoke', id);
      expect(await statusOf(key)).toBe(401);
      expect(await run('keys', 'list')).not.toContain('laptop');
      expect(await run('keys', 'list', '--all')).toMatch(/laptop +person .*Z +\d{4}-/);
      const again = await attempt('keys', 'revoke', id);
      expect([again.code, again.complaint]).toEqual([3, expect.stringContaining(`API key ${id} not found`)]);
    });

    it('creates the first key of a second workspace', async () => {
      const tenantId = randomUUID();
      await client.create(RESOURCES.Workspace, {
        metadata: { name: 'team-b' },
        spec: { tenantId, plan: 'plus' },
      });
      const key = await waitUntil('the workspace', async () => {
        const made = await attempt('keys', 'create', 'first', '--workspace', 'team-b');
        return made.code === 0 && made.output.trim();
      });
      expect(await statusOf(key)).toBe(200);
      expect(await run('keys', 'list', '--workspace', 'team-b', '-o', 'jsonpath={[*].description}')).toBe(
        'first',
      );
      expect(await run('keys', 'list', '-o', 'jsonpath={[*].description}')).not.toContain('first ');
    });

    it('names the missing workspace', async () => {
      const { code, complaint } = await attempt('keys', 'list', '--workspace', 'nowhere');
      expect([code, complaint]).toEqual([3, expect.stringContaining('Workspace nowhere does not exist')]);
    });
  });

  describe('contexts', () => {
    const withContexts = (...words: string[]): Promise<Ending> =>
      agentplane(words, { environment: contexts, cwd: folder });

    it('reaches a platform by its name, from any folder', async () => {
      const keyFile = join(folder, 'key');
      writeFileSync(keyFile, `${platform.credentials.apiKey}\n`);
      const { restUrl, kubeconfig } = platform.credentials;
      const added = await withContexts(
        ...['contexts', 'add', 'home', '--address', restUrl, '--key-file', keyFile],
        ...['--region', 'kitchen', '--kubeconfig', kubeconfig],
      );
      expect([added.code, added.complaint]).toEqual([0, '']);
      expect(statSync(join(folder, 'config', 'agentplane', 'contexts.json')).mode & 0o777).toBe(0o600);
      expect((await withContexts('keys', 'list')).code).toBe(4);
      expect((await withContexts('keys', 'list', '--context', 'home')).output).toContain('first key');
      await withContexts('contexts', 'use', 'home');
      expect((await withContexts('keys', 'list')).output).toContain('first key');
      const list = (await withContexts('contexts', 'list')).output;
      expect(list).toMatch(/^ +local .*\n\* +home +http.*kitchen$/m);
      expect(list).not.toContain(platform.credentials.apiKey);
      const asLocal = await agentplane(['keys', 'list'], {
        environment: { ...contexts, AGENTPLANE_CONTEXT: 'local' },
        cwd: folder,
      });
      expect(asLocal.code).toBe(4);
    });

    it('refuses another workspace than the one of its key', async () => {
      const { code, complaint } = await withContexts('keys', 'list', '--context', 'home', '-w', 'team-b');
      expect([code, complaint]).toEqual([
        2,
        expect.stringContaining('context home has a key of one workspace'),
      ]);
    });

    it('reports a key that the platform refuses', async () => {
      const added = await agentplane(
        ['contexts', 'add', 'wrong', '--address', platform.credentials.restUrl, '--key-file', '-'],
        { environment: contexts, cwd: folder, input: 'apk_wrong' },
      );
      expect(added.code).toBe(0);
      const { code, complaint } = await withContexts('keys', 'list', '--context', 'wrong');
      expect([code, complaint]).toEqual([6, expect.stringContaining('The API key is not valid')]);
    });

    it('reports an address that does not answer', async () => {
      await agentplane(['contexts', 'add', 'dark', '--address', 'http://127.0.0.1:1', '--key-file', '-'], {
        environment: contexts,
        input: 'apk_x',
      });
      const { code, complaint } = await withContexts('keys', 'list', '--context', 'dark');
      expect([code, complaint]).toEqual([4, expect.stringContaining('http://127.0.0.1:1 did not answer')]);
    });

    it('forgets a context, and names the known ones where one is missing', async () => {
      await withContexts('contexts', 'remove', 'wrong');
      const { code, complaint } = await withContexts('contexts', 'use', 'wrong');
      expect([code, complaint]).toEqual([
        3,
        expect.stringContaining('context wrong does not exist: known are local, home, dark'),
      ]);
      expect(existsSync(join(folder, 'config', 'agentplane', 'contexts.json'))).toBe(true);
    });
  });
});
