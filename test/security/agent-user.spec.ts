import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { KubeClient, loadKubeConnection } from '#lib/kube';
import { type Pod, PODS } from '#lib/resources';
import { waitFor } from '#lib/testing';
import { leaveOut } from '../support/kubectl.js';
import { newDataFolder, type Platform, removeDataFolder, startPlatform } from '../support/platform.js';
import { Rest } from '../support/rest.js';

const NAMESPACE = 'ws-default';
const isRoot = process.platform === 'linux' && process.getuid?.() === 0;
if (!isRoot) leaveOut('the test of what agents of a platform that is root can read, which needs root');

interface Deployment {
  readonly id: string;
  readonly latest_revision_id: string;
}

(isRoot ? describe : describe.skip)(
  'an agent of a platform that was started as root, under umask 000',
  () => {
    const dataFolder = newDataFolder();
    let platform: Platform;
    let client: KubeClient;
    let made = 0;

    beforeAll(async () => {
      const before = process.umask(0);
      try {
        platform = await startPlatform(dataFolder);
      } finally {
        process.umask(before);
      }
      const { kubeconfig: kubeconfigPath } = platform.credentials;
      client = new KubeClient(await loadKubeConnection({ kubeconfigPath }));
    });

    afterAll(async () => {
      await client?.close();
      await platform?.stop();
      removeDataFolder(dataFolder);
    });

    /** A line of shell in a pod of the workspace, as anybody who may deploy there can have it; what it wrote. */
    async function shell(line: string): Promise<string> {
      const name = `attack-${++made}`;
      const command = ['sh', '-c', `exec >"$TERMINATION_MESSAGE_PATH" 2>&1; ${line}`];
      await client.create(PODS, {
        metadata: { namespace: NAMESPACE, name },
        spec: {
          restartPolicy: 'Never',
          automountServiceAccountToken: false,
          containers: [{ name: 'main', image: 'agentplane/agent-server:any', command }],
        },
      });
      const stateOf = ({ status }: Pod) => status?.containerStatuses?.[0]?.state?.terminated;
      return waitFor(
        async () => {
          const ended = stateOf(await client.get(PODS, { namespace: NAMESPACE, name }));
          return ended && `${ended.message ?? ''} `;
        },
        { what: `the end of ${name}` },
      );
    }

    it('reads no secret of the platform, and lists nothing of it', async () => {
      const files = ['credentials.json', 'kubeconfig', 'ports.json', 'users.json', 'images/index.json'];
      const closed = ['secrets', 'kube', 'objects', 'logs', 'postgres', 'node', 'node/pods', 'images', '.'];
      const secrets = ['secrets', 'kube'].flatMap((folder) =>
        readdirSync(join(dataFolder, folder)).map((name) => `${folder}/${name}`),
      );
      expect(secrets.length).toBeGreaterThan(2);
      const reads = [...secrets, ...files.filter((name) => name !== 'users.json'), 'node/users.json'].map(
        (file) => `cat ${dataFolder}/${file} > /dev/null && echo READ ${file}`,
      );
      const lists = closed.map((folder) => `ls ${dataFolder}/${folder} > /dev/null && echo LISTED ${folder}`);
      const text = await shell(`exec 2>/dev/null; ${[...reads, ...lists].join('; ')}; id -u`);
      expect(text.trim()).toMatch(/^[1-9]\d+$/);
    });

    it('changes nothing of the platform: images, programs, Postgres', async () => {
      const [image] = readdirSync(join(dataFolder, 'images')).filter((name) => name.startsWith('sha256-'));
      const targets = ['images/x', `images/${image}/x`, `images/${image}/langgraph.json`, 'node/pods/x', 'x'];
      const writes = targets.map((path) => `(echo x >> ${dataFolder}/${path}) && echo WROTE ${path}`);
      const [version = ''] = readdirSync(join(dataFolder, 'postgres')).filter((name) =>
        /^data-\d+$/.test(name),
      );
      const pidFile = join(dataFolder, 'postgres', version, 'postmaster.pid');
      const [postmaster] = readFileSync(pidFile, 'utf8').split('\n');
      const text = await shell(
        `exec 2>/dev/null; ${writes.join('; ')}; kill -9 ${postmaster} && echo KILLED; id -u`,
      );
      expect(text.trim()).toMatch(/^[1-9]\d+$/);
    });

    it('serves as a user of its own, apart from that of the listener', async () => {
      const rest = new Rest(platform.credentials);
      const { body } = await rest.post<Deployment>('/v2/deployments', {
        name: 'plain',
        source: 'internal_image',
        source_config: {},
        source_revision_config: { image_uri: 'sample-agent' },
        secrets: [],
      });
      const revision = `/v2/deployments/${body.id}/revisions/${body.latest_revision_id}`;
      await waitFor(
        async () => {
          const { status } = (await rest.get<{ readonly status: string }>(revision)).body;
          return status === 'DEPLOYED' || undefined;
        },
        { what: 'the agent' },
      );
      const users = readdirSync('/proc').flatMap((pid) => {
        try {
          const environment = readFileSync(`/proc/${pid}/environ`, 'utf8');
          if (!environment.includes(`AGENTPLANE_NODE_PODS=${dataFolder}/`)) return [];
          // a spare process has no pod yet, and is of the node's user
          if (readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('--spare')) return [];
          return [[lstatSync(`/proc/${pid}`).uid, environment.includes('AGENTPLANE_REVISION=')] as const];
        } catch {
          return []; // ended meanwhile
        }
      });
      const [agents, others] = [
        users.filter(([, isAgent]) => isAgent),
        users.filter(([, isAgent]) => !isAgent),
      ];
      // the server and its graph host; the node
      expect([agents.length, others.length]).toEqual([2, 1]);
      expect(new Set([0, ...users.map(([uid]) => uid)]).size).toBe(3);
    });

    it('finds no file of the data folder that others may write', () => {
      const entries = readdirSync(dataFolder, { recursive: true, withFileTypes: true });
      const open = entries.filter((entry) => {
        const path = join(entry.parentPath, entry.name);
        const found = lstatSync(path, { throwIfNoEntry: false });
        return found && !found.isSymbolicLink() && (found.mode & 0o022) !== 0;
      });
      expect(open.map(({ parentPath, name }) => join(parentPath, name))).toEqual([]);
    });
  },
);
