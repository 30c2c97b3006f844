import {
  buildAgentPolicy,
  buildQueueDeployment,
  buildRevisionDeployment,
  buildServerPolicy,
  buildServerStatefulSet,
  parseEgressRules,
} from '#lib/manifests';
import type { AgentDeployment, AgentRevision, NetworkPolicy } from '#lib/resources';
import { temporaryFolder } from '#lib/testing';
import { findHelm, Helm, type Rendered } from '../support/helm.js';
import { leaveOut } from '../support/kubectl.js';
import { mayConnect, type NetworkPod } from '../support/network-policies.js';
import { DATABASE, VALUES } from './chart-values.js';

const binary = findHelm();
if (!binary) leaveOut('helm');

const SYSTEM = 'plane';
const WORKSPACE = 'ws-x';
const SETTINGS = { version: '1', apiUrl: 'http://api', addresses: 'cluster-dns' } as const;

interface Template {
  readonly metadata: { readonly labels?: Readonly<Record<string, string>> };
  readonly spec: {
    readonly containers: readonly {
      readonly ports?: readonly { readonly name?: string; readonly containerPort: number }[];
    }[];
  };
}

function podOf(namespace: string, { metadata: { labels = {} }, spec }: Template): NetworkPod {
  const ports = spec.containers.flatMap(({ ports: of = [] }) => of);
  return {
    namespace,
    labels,
    ports: Object.fromEntries(ports.map(({ name = '', containerPort }) => [name, containerPort])),
  };
}

function deploymentOf(name: string, labels: Readonly<Record<string, string>> = {}): AgentDeployment {
  return {
    apiVersion: 'agentplane.dev/v1alpha1',
    kind: 'AgentDeployment',
    metadata: { name, namespace: WORKSPACE, uid: name },
    spec: {
      source: 'external_image',
      sourceConfig: { resourceSpec: { dbStorageGi: 1, labels } },
      sourceRevisionConfig: { imageUri: 'i' },
    },
  } as AgentDeployment;
}

function revisionOf(deploymentName: string): AgentRevision {
  return {
    apiVersion: 'agentplane.dev/v1alpha1',
    kind: 'AgentRevision',
    metadata: { name: `${deploymentName}-00001`, namespace: WORKSPACE, uid: 'u' },
    spec: {
      source: 'external_image',
      deploymentName,
      listenerName: 'default',
      envSecretName: 'e',
      resourceSpec: { queueMinScale: 1 },
    },
    status: { image: 'i' },
  } as unknown as AgentRevision;
}

const agentOf = (name: string): NetworkPod =>
  podOf(WORKSPACE, buildRevisionDeployment(revisionOf(name), 1, SETTINGS).spec.template as Template);
const queueOf = (name: string): NetworkPod =>
  podOf(WORKSPACE, buildQueueDeployment(revisionOf(name), 1, SETTINGS).spec.template as Template);
const serverOf = (deployment: AgentDeployment): NetworkPod => {
  const { template } = buildServerStatefulSet(deployment, { image: 'p', userId: 70 }, SETTINGS).spec;
  return podOf(WORKSPACE, template as Template);
};

(binary ? describe : describe.skip)('policies of the network', () => {
  const helm = new Helm(binary ?? '', temporaryFolder());
  const rendered = (values: object): readonly Rendered[] => helm.render(values);
  const policiesOf = (objects: readonly Rendered[]): readonly NetworkPolicy[] =>
    objects.filter(({ kind }) => kind === 'NetworkPolicy') as unknown as readonly NetworkPolicy[];
  const platformPod = (objects: readonly Rendered[], name: string): NetworkPod => {
    const template = objects.find(
      ({ kind, metadata, spec }) => spec?.template && kind !== 'Job' && metadata.name.endsWith(`-${name}`),
    )?.spec?.template;
    if (!template) throw new Error(`the chart renders no ${name}`);
    return podOf(SYSTEM, template as unknown as Template);
  };

  describe('of a Postgres server of a deployment’s own', () => {
    const objects = rendered({ ...DATABASE, networkPolicies: { enabled: true } });
    const own = deploymentOf('a', { team: 'x', 'app.kubernetes.io/component': 'mine' });
    const policies = [own, deploymentOf('b')].map((one) => buildServerPolicy(one, SYSTEM));
    const server = serverOf(own);
    const reaches = (from: NetworkPod | undefined, to = server, port = 5432): boolean =>
      mayConnect([...policiesOf(objects), ...policies], { from, to, port });

    it('admits pods of its deployment that answer or take runs', () => {
      expect([agentOf('a'), queueOf('a')].map((pod) => reaches(pod))).toEqual([true, true]);
      expect(reaches(agentOf('b'), serverOf(deploymentOf('b')))).toBe(true);
    });
    it('admits the controller of the platform, and none that is labelled like it elsewhere', () => {
      const controller = platformPod(objects, 'controller');
      expect(reaches(controller)).toBe(true);
      expect(reaches({ ...controller, namespace: WORKSPACE })).toBe(false);
    });
    it.each<[string, NetworkPod | undefined]>([
      ['agents of another deployment', agentOf('b')],
      ['the server of another deployment', serverOf(deploymentOf('b'))],
      ['agents of a deployment of this name in another workspace', { ...agentOf('a'), namespace: 'ws-y' }],
      ['the api', platformPod(objects, 'api')],
      ['other pods of the platform’s namespace', { namespace: SYSTEM, labels: {} }],
      ['pods without labels', { namespace: WORKSPACE, labels: {} }],
      ['addresses outside of the cluster', undefined],
    ])('keeps out %s', (_, from) => {
      expect(reaches(from)).toBe(false);
    });
    it('opens no other port, and keeps the server from opening connections', () => {
      expect(reaches(agentOf('a'), server, 8080)).toBe(false);
      expect(reaches(server, agentOf('a'), 8000)).toBe(false);
      expect(mayConnect(policies, { from: server, to: undefined, port: 443 })).toBe(false);
    });
  });

  describe('of the chart', () => {
    const objects = rendered(VALUES['a trial'] ?? {});
    const reaches = (from: NetworkPod, to: NetworkPod, port: string): boolean =>
      mayConnect(policiesOf(objects), { from, to, port: to.ports?.[port] ?? 0 });
    const [api, controller, postgres] = ['api', 'controller', 'trial-postgres'].map((name) =>
      platformPod(objects, name),
    ) as [NetworkPod, NetworkPod, NetworkPod];

    it('admits agents to the api and, for a trial, to its Postgres', () => {
      expect(reaches(agentOf('a'), api, 'http')).toBe(true);
      expect(reaches(agentOf('a'), postgres, 'postgres')).toBe(true);
      expect(reaches(controller, postgres, 'postgres')).toBe(true);
    });
    it('admits agents to names, their workspace, the database and public addresses, and to nothing private', () => {
      const peer = { podSelector: { matchLabels: { app: 'model' } }, namespaceSelector: {} };
      const more = rendered({ ...DATABASE, agents: { egress: [{ to: [peer] }] } });
      const rulesOf = (these: readonly Rendered[]) =>
        these
          .flatMap(({ spec }) => spec?.template?.spec.containers ?? [])
          .flatMap(({ env = [] }) => env)
          .find(({ name }) => name === 'AGENTPLANE_AGENT_EGRESS')?.value;
      const opens = (these: readonly Rendered[], to: NetworkPod | string, port: number): boolean => {
        const policy = buildAgentPolicy(WORKSPACE, parseEgressRules(rulesOf(these) ?? ''), 6432);
        return mayConnect([policy], { from: agentOf('a'), to, port });
      };
      const dns = { namespace: 'kube-system', labels: {} };
      const elsewhere = { ...agentOf('b'), namespace: 'ws-y' };
      expect([opens(objects, dns, 53), opens(objects, api, api.ports?.['http'] ?? 0)]).toEqual([true, true]);
      expect([opens(objects, agentOf('b'), 8000), opens(objects, elsewhere, 8000)]).toEqual([true, false]);
      expect([opens(objects, '10.1.2.3', 6432), opens(objects, '10.1.2.3', 443)]).toEqual([true, false]);
      expect([opens(objects, '8.8.8.8', 443), opens(objects, '169.254.169.254', 80)]).toEqual([true, false]);
      const model = { namespace: 'models', labels: { app: 'model' } };
      expect([opens(objects, model, 80), opens(more, model, 80)]).toEqual([false, true]);
      expect(rulesOf(rendered({ ...DATABASE, agents: { networkPolicy: false } }))).toBeUndefined();
    });
    it('keeps a trial Postgres from opening connections, and export workers from all calls but those for metrics', () => {
      expect(reaches(postgres, api, 'http')).toBe(false);
      const labels = {
        'app.kubernetes.io/managed-by': 'agentplane',
        'app.kubernetes.io/component': 'export-worker',
      };
      const worker = { namespace: SYSTEM, labels, ports: { metrics: 9464, other: 8080 } };
      expect([reaches(api, worker, 'metrics'), reaches(api, worker, 'other')]).toEqual([true, false]);
    });
  });
});
