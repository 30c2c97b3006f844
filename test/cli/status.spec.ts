import { KubeClient, loadKubeConnection } from '#lib/kube';
import { NODES, PODS_RUN_AS_ROOT, PODS_SHARE_USER, SHARED_USER_MESSAGE } from '#lib/resources';
import { sharedPlatform } from '../support/shared-platform.js';
import { queryTraceStore } from '../support/trace-database.js';
import { agentplane, type Ending } from './agentplane.js';

describe('agentplane status', () => {
  const platform = sharedPlatform();
  let client: KubeClient;

  beforeAll(async () => {
    const connection = await loadKubeConnection({ kubeconfigPath: platform.credentials.kubeconfig });
    client = new KubeClient(connection, { fieldManager: 'test' });
  });

  afterAll(() => client?.close());

  function attempt(...words: string[]): Promise<Ending> {
    return agentplane([...words, '--data', platform.dataFolder]);
  }

  /** One that must end well. */
  async function run(...words: string[]): Promise<string> {
    const { code, output, complaint } = await attempt(...words);
    if (code !== 0) throw new Error(`${words.join(' ')} ended with ${code}: ${complaint}`);
    return output;
  }

  it('reports every part, and ends with 0 when all are ready', async () => {
    const parts = JSON.parse(await run('status', '-o', 'json')) as { part: string; state: string }[];
    expect(parts.map(({ part }) => part)).toEqual(
      expect.arrayContaining(['supervisor', 'rest', 'object-store', 'kubernetes', 'listener/default']),
    );
    expect(parts.every(({ state }) => ['ok', 'ready'].includes(state))).toBe(true);
  });

  it.each([
    ['run as root', PODS_RUN_AS_ROOT, 'pods run as root and can read everything here'],
    ['share one user', PODS_SHARE_USER, SHARED_USER_MESSAGE],
  ])('reports a node whose pods %s', async (_how, type, message) => {
    const name = 'node-of-others';
    await client.create(NODES, { metadata: { name } });
    const times = { lastHeartbeatTime: '2026-01-01T00:00:00Z', lastTransitionTime: '2026-01-01T00:00:00Z' };
    const conditions = [{ type, status: 'True' as const, reason: 'NoUsersOfTheirOwn', message, ...times }];
    await client.merge(NODES, { name }, { status: { conditions } }, { subresource: 'status' });
    expect((await attempt('status')).output).toMatch(new RegExp(`^node/${name} +NotReady +${message}`, 'm'));
    await client.delete(NODES, { name });
    expect(await run('status')).not.toContain(name);
  });

  it('shows what deployments share', async () => {
    expect(await run('status', '--trust')).toMatch(/^DEPLOYMENT +USER +DATABASE SERVER +PORT$/m);
  });

  it('warns with the statement that closes it, and ends with 0 all the same', async () => {
    expect(await run('status')).not.toContain('rest/warning');
    await queryTraceStore(platform.dataFolder, 'GRANT CONNECT ON DATABASE agentplane TO PUBLIC');
    const mend = 'REVOKE CONNECT, TEMPORARY ON DATABASE "agentplane" FROM PUBLIC';
    expect(await run('status')).toMatch(
      new RegExp(
        `^rest/warning +warning +every role may connect to databases of the platform; close them: ${mend}$`,
        'm',
      ),
    );
    await queryTraceStore(platform.dataFolder, mend);
    expect(await run('status')).not.toContain('rest/warning');
  });
});
