import { once } from 'node:events';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { KubeClient, loadKubeConnection } from '#lib/kube';
import { PODS, SERVICE_ACCOUNTS } from '#lib/resources';
import { freePort, selfSigned, temporaryFolder, testApiServer, waitFor } from '#lib/testing';
import { agentplane, type Ending, startAgentplane } from '../cli/agentplane.js';
import { findRealKubernetes, leaveOut } from '../support/kubectl.js';
import { findKwok, Kwok } from '../support/kwok.js';

const installation = findRealKubernetes();
const binary = installation === undefined ? undefined : findKwok(installation);

/** Commands into pods through a real API server. kwok plays the kubelet: its commands run on this machine. */
if (binary === undefined)
  it('needs a real Kubernetes and kwok', () => leaveOut('a real Kubernetes with kwok'));
else
  describe('commands into pods of a real API server', () => {
    const server = testApiServer();
    const folder = temporaryFolder();
    const here = join(folder, 'here');
    const environment = { XDG_CONFIG_HOME: join(folder, 'config') };
    let client: KubeClient;
    let kwok: Kwok;
    let echo: Server;

    beforeAll(async () => {
      client = new KubeClient(await loadKubeConnection({ kubeconfigPath: server.kubeconfigPath }));
      echo = createServer((socket) => socket.pipe(socket)).listen(0, '127.0.0.1');
      await once(echo, 'listening');
      const port = await freePort();
      const { key, certificate } = await selfSigned();
      writeFileSync(join(folder, 'key.pem'), key);
      writeFileSync(join(folder, 'certificate.pem'), certificate);
      kwok = new Kwok(binary, server.kubeconfigPath, folder, {
        config: `---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: ClusterExec
metadata: { name: exec }
spec: { execs: [{ local: {} }] }
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: ClusterPortForward
metadata: { name: forward }
spec: { forwards: [{ ports: [8000], target: { address: 127.0.0.1, port: ${(echo.address() as AddressInfo).port} } }] }
`,
        flags: [
          `--server-address=127.0.0.1:${port}`,
          `--tls-cert-file=${join(folder, 'certificate.pem')}`,
          `--tls-private-key-file=${join(folder, 'key.pem')}`,
        ],
      });
      await kwok.addNode(client, 'one');
      const status = { daemonEndpoints: { kubeletEndpoint: { Port: port } } };
      await client.raw('PATCH', '/api/v1/nodes/one/status', {
        body: { status },
        contentType: 'application/merge-patch+json',
      });
      await client.create(SERVICE_ACCOUNTS, { metadata: { name: 'default', namespace: 'default' } });
      await client.create(PODS, {
        metadata: { name: 'agent', namespace: 'default' },
        spec: {
          nodeName: 'one',
          automountServiceAccountToken: false,
          containers: [{ name: 'main', image: 'none' }],
          tolerations: [{ operator: 'Exists' }],
        },
      } as never);
      await waitFor(
        async () =>
          (await client.find(PODS, { namespace: 'default', name: 'agent' }))?.status?.phase === 'Running',
      );
      const keyFile = join(folder, 'api-key');
      writeFileSync(keyFile, 'none');
      await run([
        'contexts',
        'add',
        'far',
        '--address',
        'http://127.0.0.1:1',
        '--key-file',
        keyFile,
        '--kubeconfig',
        server.kubeconfigPath,
      ]);
      mkdirSync(join(here, 'in', 'sub'), { recursive: true });
      writeFileSync(join(here, 'in', 'small'), 'one');
      writeFileSync(join(here, 'in', 'sub', 'large'), Buffer.alloc(5_000_000, 'abc'));
      symlinkSync('small', join(here, 'in', 'link'));
    });
    afterAll(async () => {
      await client?.close();
      await kwok?.stop();
      echo?.close();
    });

    const run = (words: readonly string[]): Promise<Ending> => agentplane(words, { environment });
    const reach = (command: string, ...words: string[]): Promise<Ending> =>
      run([command, '--context', 'far', ...words]);

    it('runs a command and passes its outputs on', async () => {
      const script = 'echo out; echo err >&2';
      expect(await reach('exec', 'pod/agent', '--', 'sh', '-c', script)).toEqual({
        code: 0,
        output: 'out\n',
        complaint: 'err\n',
      });
    });

    it('fails in the words of the server', async () => {
      const missing = await reach('exec', 'pod/agent', '-c', 'other', '--', 'ls');
      expect(missing).toMatchObject({ code: 1, complaint: 'container other is not valid for pod agent\n' });
      expect(await reach('exec', 'pod/none', '--', 'ls')).toMatchObject({ code: 3 });
    });

    it('copies a folder out of a pod without its links', async () => {
      const out = join(here, 'out');
      mkdirSync(out);
      const ended = await reach('cp', `pod/agent:${join(here, 'in')}`, out);
      expect(ended).toMatchObject({ code: 0, output: '2 files copied\n' });
      expect(ended.complaint).toBe('in/link is a symbolic link and was left out\n');
      expect(
        readFileSync(join(out, 'in', 'sub', 'large')).equals(readFileSync(join(here, 'in', 'sub', 'large'))),
      ).toBe(true);
    });

    it('reports why tar in the pod failed', async () => {
      const ended = await reach('cp', `pod/agent:${join(here, 'nothing')}`, here);
      expect(ended.code).toBe(1);
      expect(ended.complaint).toMatch(/^tar in pod agent failed: tar: nothing: Cannot stat/);
    });

    it('forwards a port, several connections at once', async () => {
      const local = await freePort();
      const forwarding = startAgentplane(
        ['port-forward', 'pod/agent', `${local}:8000`, '--context', 'far'],
        environment,
      );
      await waitFor(() => forwarding.output().includes('Forwarding from'));
      const answers = await Promise.all(
        ['one', 'two'].map(async (text) => {
          const socket = connect(local, '127.0.0.1');
          socket.write(text);
          const [answer] = (await once(socket, 'data')) as [Buffer];
          socket.destroy();
          return answer.toString();
        }),
      );
      expect(answers).toEqual(['one', 'two']);
      await forwarding.stop();
    });
  });
