import { join } from 'node:path';
import { Client } from '@langchain/langgraph-sdk';
import { itLong, waitFor } from '#lib/testing';
import { findKubectl, findRealKubernetes, Kubectl, leaveOut } from '../support/kubectl.js';
import { newDataFolder, type Platform, removeDataFolder, startPlatform } from '../support/platform.js';
import { RealCluster } from '../support/real-cluster.js';
import { sharedPlatform } from '../support/shared-platform.js';

const realHome = findRealKubernetes();
const binary = findKubectl();

const shell = (name: string, line: string, more: object) => ({
  name,
  image: 'sample-agent',
  command: ['sh', '-c', line],
  ...more,
});
const SCRATCH = { name: 'scratch', mountPath: '/agentplane-scratch' };
const SETTINGS = { name: 'settings', mountPath: '/etc/agentplane-fields', readOnly: true };

/** A value of every field. */
const EVERY_FIELD = {
  minScale: 1,
  maxScale: 2,
  cpu: 0.2,
  cpuLimit: 1,
  memoryMb: 300,
  memoryLimitMb: 900,
  queueMinScale: 1,
  queueMaxScale: 2,
  queueCpu: 0.1,
  queueCpuLimit: 1,
  queueMemoryMb: 310,
  queueMemoryLimitMb: 910,
  orchestratorCpu: 1,
  orchestratorCpuLimit: 1,
  orchestratorMemoryMb: 1,
  orchestratorMemoryLimitMb: 1,
  orchestratorMinScale: 1,
  orchestratorMaxScale: 1,
  executorCpu: 1,
  executorCpuLimit: 1,
  executorMemoryMb: 1,
  executorMemoryLimitMb: 1,
  cacheMemoryMb: 1,
  labels: { team: 'fields' },
  annotations: { note: 'every field' },
  serviceAccountName: 'mine',
  imagePullSecrets: [{ name: 'registry' }],
  nodeSelector: { pool: 'agents' },
  tolerations: [{ key: 'agents', operator: 'Exists' }],
  affinity: {},
  topologySpreadConstraints: [],
  priorityClassName: 'high',
  runtimeClassName: 'gvisor',
  volumes: [
    { name: 'scratch', emptyDir: {} },
    { name: 'settings', projected: { sources: [{ configMap: { name: 'settings' } }] } },
  ],
  volumeMounts: [SCRATCH, SETTINGS],
  initContainers: [
    shell('first', 'cat /etc/agentplane-fields/word > /agentplane-scratch/word', {
      volumeMounts: [SCRATCH, SETTINGS],
    }),
  ],
  sidecars: [
    shell('native', 'cat /agentplane-scratch/word; echo; sleep 3600', {
      restartPolicy: 'Always',
      volumeMounts: [SCRATCH],
    }),
    shell('beside', 'echo beside; sleep 3600', {}),
  ],
  dbCpu: 1,
  dbCpuLimit: 1,
  dbMemoryMb: 1,
  dbMemoryLimitMb: 1,
  dbStorageGi: 1,
  dbMaxConnections: 60,
};

const HOMES = [
  { name: 'one machine', isReal: false, isThere: binary !== undefined },
  { name: 'a real API server', isReal: true, isThere: realHome !== undefined },
];

describe.each(HOMES)('a deployment with every field on $name', ({ name, isReal, isThere }) => {
  const shared = isReal || !isThere ? undefined : sharedPlatform();
  const dataFolder = newDataFolder();
  let cluster: RealCluster | undefined;
  let own: Platform | undefined;
  let platform: Pick<Platform, 'credentials'>;
  let kubectl: Kubectl;

  async function startOwn(): Promise<Platform> {
    cluster = RealCluster.up(realHome ?? '');
    own = await startPlatform(dataFolder, { more: ['--kubeconfig', cluster.kubeconfig] });
    return own;
  }

  beforeAll(async () => {
    if (!isThere) return leaveOut(name);
    platform = shared ?? (await startOwn());
    const program = isReal ? join(realHome ?? '', 'bin', 'kubectl') : (binary ?? '');
    kubectl = new Kubectl(program, platform.credentials.kubeconfig);
    await kubectl.run(['create', 'serviceaccount', 'mine']);
    await kubectl.run(['create', 'configmap', 'settings', '--from-literal=word=from the map']);
  });

  afterAll(async () => {
    await own?.stop();
    cluster?.down();
    removeDataFolder(dataFolder);
  });

  (!isThere ? it.skip : isReal ? itLong : it)(
    'drives something by each, or names it as ignored',
    async () => {
      const resource = {
        apiVersion: 'agentplane.dev/v1alpha1',
        kind: 'AgentDeployment',
        metadata: { name: 'every' },
        spec: {
          source: 'internal_image',
          sourceConfig: { resourceSpec: EVERY_FIELD },
          sourceRevisionConfig: { imageUri: 'sample-agent' },
        },
      };
      await kubectl.run(['apply', '-f', '-'], { input: JSON.stringify(resource) });
      await kubectl.run(['wait', '--for=condition=Ready', 'adep/every', '--timeout=120s']);
      const read = async (...args: string[]): Promise<string> => (await kubectl.run(['get', ...args])).trim();

      const ignored = await read(
        ...['adep', 'every', '-o', "jsonpath={.status.conditions[?(@.type=='FieldsIgnored')].message}"],
      );
      expect(ignored.split('; ').map((one) => one.split(/ ha(?:s|ve) no effect/)[0])).toEqual([
        'affinity, nodeSelector, priorityClassName, runtimeClassName, tolerations, topologySpreadConstraints',
        'cacheMemoryMb',
        'dbCpu, dbCpuLimit, dbMemoryLimitMb, dbMemoryMb, dbStorageGi',
        'executorCpu, executorCpuLimit, executorMemoryLimitMb, executorMemoryMb, orchestratorCpu, ' +
          'orchestratorCpuLimit, orchestratorMaxScale, orchestratorMemoryLimitMb, orchestratorMemoryMb, orchestratorMinScale',
        'imagePullSecrets',
      ]);
      await waitFor(async () => (await read('events')).includes('FieldsIgnored'));

      expect((await read('deploy,svc,secret', '-l', 'team=fields', '-o', 'name')).split('\n').sort()).toEqual(
        [
          'deployment.apps/every-00001',
          'deployment.apps/every-00001-queue',
          'secret/every-00001-env',
          'secret/every-database',
          'secret/every-platform',
          'service/every',
        ],
      );
      expect(await read('svc', 'every', '-o', 'jsonpath={.metadata.annotations.note}')).toBe('every field');
      const agent = '{.spec.template.spec.containers[0].resources}';
      const resources = await read(
        'deploy',
        'every-00001',
        'every-00001-queue',
        '-o',
        `jsonpath={range .items[*]}${agent}{"\\n"}{end}`,
      );
      expect(resources.split('\n').map((line) => JSON.parse(line) as unknown)).toEqual([
        { requests: { cpu: '200m', memory: '300Mi' }, limits: { cpu: '1', memory: '900Mi' } },
        { requests: { cpu: '100m', memory: '310Mi' }, limits: { cpu: '1', memory: '910Mi' } },
      ]);
      // a sidecar without a probe is ready once it is started, which may be before its first line
      for (const [container, line] of Object.entries({ native: 'from the map', beside: 'beside' })) {
        const logs = () => kubectl.run(['logs', 'deploy/every-00001', '-c', container]);
        await waitFor(async () => (await logs()).includes(line), { what: `the line of ${container}` });
      }
      const pod = await read(
        'pods',
        '-l',
        'team=fields',
        '-o',
        'jsonpath={.items[0].spec.serviceAccountName}',
      );
      expect(pod).toBe('mine');

      const apiUrl = await read('adep', 'every', '-o', 'jsonpath={.status.url}');
      const apiKey = platform.credentials.apiKey;
      const client = new Client({ apiUrl, apiKey, callerOptions: { maxRetries: 0 } });
      const input = { messages: [{ role: 'user', content: 'what is 2 + 40?' }] };
      expect(JSON.stringify(await client.runs.wait(null, 'agent', { input }))).toContain('42');
      await kubectl.run(['delete', 'adep', 'every', '--timeout=90s']);
      await waitFor(async () => (await read('deploy,pods,svc', '-l', 'team=fields', '-o', 'name')) === '', {
        what: 'its objects to go',
      });
    },
    300_000,
  );
});
