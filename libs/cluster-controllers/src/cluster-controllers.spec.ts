import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Informers, KubeClient, loadKubeConnection, type Draft } from '#lib/kube';
import type { Stoppable } from '#lib/lifecycle';
import { createLogger } from '#lib/telemetry';
import { API_SERVERS, hasRealKubernetes, testApiServer, waitFor } from '#lib/testing';
import {
  CONFIG_MAPS,
  type Deployment,
  DEPLOYMENTS,
  type Job,
  JOBS,
  NAMESPACES,
  type OwnerReference,
  PODS,
  REPLICA_SETS,
  SERVICE_ACCOUNTS,
} from '#lib/resources';
import { startClusterControllers } from './start-cluster-controllers.js';
import { EXIT_ANNOTATION, Kubelet } from './testdata/kubelet.js';
import { startKubernetesControllers } from './testdata/kubernetes-controllers.js';

const log = createLogger('test', process.env.TEST_LOG ?? 'silent');

interface Home {
  readonly kubeconfigPath: string;
}

interface Implementation {
  readonly name: string;
  /** Registers the hooks of the API server. */
  readonly home: () => Home;
  readonly start: (home: Home) => Promise<Stoppable>;
}

const ours = async ({ kubeconfigPath }: Home): Promise<Stoppable> =>
  startClusterControllers({ connection: await loadKubeConnection({ kubeconfigPath }), log });

/** Ours and Kubernetes' own must pass the same tests. The reference runs only on request. */
const IMPLEMENTATIONS: readonly Implementation[] = [
  ...API_SERVERS.map(({ name, home }) => ({ name: `ours on ${name}`, home, start: ours })),
  ...(hasRealKubernetes && process.env.TEST_REFERENCE
    ? [
        {
          name: 'those of Kubernetes',
          home: testApiServer,
          start: (home: Home) => Promise.resolve(startKubernetesControllers(home.kubeconfigPath)),
        },
      ]
    : []),
];

describe.each(IMPLEMENTATIONS)('cluster controllers: $name', ({ home, start }) => {
  const server = home();
  let controllers: Stoppable;
  let client: KubeClient;
  let informers: Informers;
  let kubelet: Kubelet;

  beforeAll(async () => {
    const connection = await loadKubeConnection({ kubeconfigPath: server.kubeconfigPath });
    client = new KubeClient(connection, { fieldManager: 'test' });
    controllers = await start(server);
    informers = new Informers({ client, log });
    informers.of(PODS);
    informers.start();
    await informers.synced();
    kubelet = new Kubelet(client, informers, 'node-a', log);
    await kubelet.start();
  });

  afterAll(async () => {
    await kubelet?.stop();
    await controllers?.stop();
    await informers?.stop();
    await client?.close();
  });

  async function freshNamespace(): Promise<string> {
    const name = `test-${Math.random().toString(36).slice(2, 10)}`;
    await client.create(NAMESPACES, { metadata: { name } });
    await waitFor(() => client.find(SERVICE_ACCOUNTS, { namespace: name, name: 'default' }), {
      what: 'the account',
    });
    return name;
  }

  const template = (
    annotations: Record<string, string> = {},
    image = 'a',
  ): Deployment['spec']['template'] => ({
    metadata: { labels: { app: 'web' }, annotations },
    spec: { containers: [{ name: 'main', image }] },
  });

  function deployment(namespace: string, spec: Partial<Deployment['spec']> = {}): Draft<Deployment> {
    return {
      metadata: { namespace, name: 'web' },
      spec: { replicas: 2, selector: { matchLabels: { app: 'web' } }, template: template(), ...spec },
    };
  }

  function job(
    namespace: string,
    spec: Partial<Job['spec']>,
    annotations: Record<string, string>,
  ): Draft<Job> {
    return {
      metadata: { namespace, name: 'once' },
      spec: {
        template: {
          metadata: { annotations },
          spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'a' }] },
        },
        ...spec,
      },
    };
  }

  const conditionsOf = (
    object:
      { status?: { conditions?: readonly { type: string; status: string; reason?: string }[] } } | undefined,
  ) =>
    (object?.status?.conditions ?? [])
      .map(({ type, status, reason }) => `${type}=${status} ${reason}`)
      .sort();

  it('rolls a deployment out and reports it as Kubernetes does', async () => {
    const namespace = await freshNamespace();
    const key = { namespace, name: 'web' };
    await client.create(DEPLOYMENTS, deployment(namespace));
    const done = await waitFor(async () => {
      const found = await client.get(DEPLOYMENTS, key);
      return (
        found.status?.availableReplicas === 2 &&
        conditionsOf(found).includes('Progressing=True NewReplicaSetAvailable') &&
        found
      );
    });
    expect(conditionsOf(done)).toEqual([
      'Available=True MinimumReplicasAvailable',
      'Progressing=True NewReplicaSetAvailable',
    ]);
    expect(done.status).toMatchObject({
      observedGeneration: done.metadata.generation,
      replicas: 2,
      updatedReplicas: 2,
      readyReplicas: 2,
    });
    expect(done.metadata.annotations).toMatchObject({ 'deployment.kubernetes.io/revision': '1' });

    await client.merge(DEPLOYMENTS, key, {
      spec: { template: { spec: { containers: [{ name: 'main', image: 'b' }] } } },
    });
    await waitFor(async () => {
      const { items } = await client.list(REPLICA_SETS, { namespace });
      return (
        items.length === 2 &&
        items
          .map(({ spec }) => spec.replicas)
          .sort()
          .join() === '0,2'
      );
    });
    await waitFor(async () =>
      (await client.list(PODS, { namespace })).items.every(({ spec }) => spec.containers[0]?.image === 'b'),
    );
    const after = await client.get(DEPLOYMENTS, key);
    expect(after.metadata.annotations).toMatchObject({ 'deployment.kubernetes.io/revision': '2' });

    await client.delete(DEPLOYMENTS, key);
    await waitFor(async () => {
      const sets = await client.list(REPLICA_SETS, { namespace });
      const pods = await client.list(PODS, { namespace });
      return sets.items.length === 0 && pods.items.length === 0;
    });
  });

  it('keeps an owner that is deleted in the foreground until its dependents are deleted', async () => {
    const namespace = await freshNamespace();
    await client.create(DEPLOYMENTS, deployment(namespace));
    await waitFor(
      async () => (await client.get(DEPLOYMENTS, { namespace, name: 'web' })).status?.availableReplicas === 2,
    );
    await client.delete(DEPLOYMENTS, { namespace, name: 'web' }, { propagation: 'Foreground' });
    await waitFor(async () => (await client.find(DEPLOYMENTS, { namespace, name: 'web' })) === undefined);
    expect((await client.list(PODS, { namespace })).items).toEqual([]);
  });

  it('leaves the dependents of an orphaning deletion alone', async () => {
    const namespace = await freshNamespace();
    await client.create(DEPLOYMENTS, deployment(namespace, { replicas: 1 }));
    await waitFor(
      async () => (await client.get(DEPLOYMENTS, { namespace, name: 'web' })).status?.availableReplicas === 1,
    );
    await client.delete(DEPLOYMENTS, { namespace, name: 'web' }, { propagation: 'Orphan' });
    await waitFor(async () => (await client.find(DEPLOYMENTS, { namespace, name: 'web' })) === undefined);
    const { items } = await client.list(REPLICA_SETS, { namespace });
    expect(items.map(({ metadata }) => metadata.ownerReferences)).toEqual([undefined]);
  });

  it('runs a job to its completions', async () => {
    const namespace = await freshNamespace();
    await client.create(JOBS, job(namespace, { completions: 3, parallelism: 2 }, { [EXIT_ANNOTATION]: '0' }));
    const done = await waitFor(async () => {
      const found = await client.get(JOBS, { namespace, name: 'once' });
      return conditionsOf(found).includes('Complete=True CompletionsReached') && found;
    });
    expect(conditionsOf(done)).toEqual([
      'Complete=True CompletionsReached',
      'SuccessCriteriaMet=True CompletionsReached',
    ]);
    expect(done.status).toMatchObject({
      succeeded: 3,
      ready: 0,
      terminating: 0,
      uncountedTerminatedPods: {},
    });
    expect(done.status?.active).toBeUndefined();
    expect((await client.list(PODS, { namespace })).items.length).toBe(3);
  });

  it('fails a job at its first failure when it has no backoff', async () => {
    const namespace = await freshNamespace();
    await client.create(JOBS, job(namespace, { backoffLimit: 0 }, { [EXIT_ANNOTATION]: '3' }));
    const done = await waitFor(async () => {
      const found = await client.get(JOBS, { namespace, name: 'once' });
      return conditionsOf(found).includes('Failed=True BackoffLimitExceeded') && found;
    });
    expect(conditionsOf(done)).toEqual([
      'Failed=True BackoffLimitExceeded',
      'FailureTarget=True BackoffLimitExceeded',
    ]);
    expect(done.status).toMatchObject({ failed: 1, ready: 0, terminating: 0 });
    await waitFor(async () =>
      (await client.list(PODS, { namespace })).items.every(({ metadata }) => !metadata.finalizers?.length),
    );
  });

  it('stops a job at its activeDeadlineSeconds', async () => {
    const namespace = await freshNamespace();
    await client.create(JOBS, job(namespace, { activeDeadlineSeconds: 1, ttlSecondsAfterFinished: 0 }, {}));
    await waitFor(async () => (await client.list(PODS, { namespace })).items.length === 1);
    await waitFor(async () => (await client.find(JOBS, { namespace, name: 'once' })) === undefined);
    await waitFor(async () => (await client.list(PODS, { namespace })).items.length === 0);
  });

  it('deletes the pods of a deleted job', async () => {
    const namespace = await freshNamespace();
    await client.create(JOBS, job(namespace, {}, {}));
    await waitFor(async () => (await client.get(JOBS, { namespace, name: 'once' })).status?.ready === 1);
    await client.delete(JOBS, { namespace, name: 'once' });
    await waitFor(async () => (await client.list(PODS, { namespace })).items.length === 0);
  });

  it('leaves a pod pending that fits no node, with the reason', async () => {
    const namespace = await freshNamespace();
    const key = { namespace, name: 'greedy' };
    await client.create(PODS, {
      metadata: key,
      spec: { containers: [{ name: 'main', image: 'a', resources: { requests: { cpu: '64' } } }] },
    });
    const pod = await waitFor(async () => {
      const found = await client.get(PODS, key);
      return found.status?.conditions?.some(({ reason }) => reason === 'Unschedulable') && found;
    });
    expect(pod.status?.conditions?.[0]?.message).toContain('0/1 nodes are available: 1 Insufficient cpu.');
    const small = { ...key, name: 'beside' };
    await client.create(PODS, { metadata: small, spec: { containers: [{ name: 'main', image: 'a' }] } });
    await waitFor(async () => (await client.get(PODS, small)).spec.nodeName !== undefined);
  });

  it('empties a namespace that is deleted', async () => {
    const namespace = await freshNamespace();
    await client.create(DEPLOYMENTS, deployment(namespace));
    await waitFor(
      async () => (await client.get(DEPLOYMENTS, { namespace, name: 'web' })).status?.availableReplicas === 2,
    );
    await client.delete(NAMESPACES, { name: namespace });
    await waitFor(async () => (await client.find(NAMESPACES, { name: namespace })) === undefined);
  });

  /** A status without what differs from run to run: times and the hash in the names of replica sets. */
  function normalized(status: unknown, sets: readonly string[] = []): unknown {
    let text = JSON.stringify(status).replace(/"\d{4}-\d\d-\d\dT[^"]*Z"/g, '"T"');
    for (const set of sets) text = text.replaceAll(set, 'SET');
    const value = JSON.parse(text) as { conditions?: { type: string }[] };
    value.conditions?.sort((a, b) => (a.type < b.type ? -1 : 1));
    return value;
  }

  it('writes the status of a rolled out deployment and its replica sets word for word', async () => {
    const namespace = await freshNamespace();
    await client.create(
      DEPLOYMENTS,
      deployment(namespace, { replicas: 3, strategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } } }),
    );
    const isDone = async (image: string): Promise<Deployment | false> => {
      const found = await client.get(DEPLOYMENTS, { namespace, name: 'web' });
      const { items } = await client.list(PODS, { namespace });
      const hasRolled = items.length === 3 && items.every(({ spec }) => spec.containers[0]?.image === image);
      const isTold =
        found.status?.observedGeneration === found.metadata.generation && found.status?.replicas === 3;
      return (
        hasRolled &&
        isTold &&
        conditionsOf(found).includes('Progressing=True NewReplicaSetAvailable') &&
        found
      );
    };
    await waitFor(() => isDone('a'));
    const spec = { template: { spec: { containers: [{ name: 'main', image: 'b' }] } } };
    await client.merge(DEPLOYMENTS, { namespace, name: 'web' }, { spec });
    const done = await waitFor(() => isDone('b'));
    const { items } = await client.list(REPLICA_SETS, { namespace });
    const names = items.map(({ metadata }) => metadata.name);
    expect(normalized(done.status, names)).toEqual({
      observedGeneration: done.metadata.generation,
      replicas: 3,
      updatedReplicas: 3,
      readyReplicas: 3,
      availableReplicas: 3,
      conditions: [
        {
          type: 'Available',
          status: 'True',
          reason: 'MinimumReplicasAvailable',
          message: 'Deployment has minimum availability.',
          lastTransitionTime: 'T',
          lastUpdateTime: 'T',
        },
        {
          type: 'Progressing',
          status: 'True',
          reason: 'NewReplicaSetAvailable',
          message: 'ReplicaSet "SET" has successfully progressed.',
          lastTransitionTime: 'T',
          lastUpdateTime: 'T',
        },
      ],
    });
    const sets = items.map(({ metadata, spec: { replicas }, status }) => ({
      revision: metadata.annotations?.['deployment.kubernetes.io/revision'],
      desired: metadata.annotations?.['deployment.kubernetes.io/desired-replicas'],
      max: metadata.annotations?.['deployment.kubernetes.io/max-replicas'],
      replicas,
      status: { ...status, observedGeneration: undefined },
    }));
    expect(sets.toSorted((a, b) => Number(a.revision) - Number(b.revision))).toEqual([
      { revision: '1', desired: '3', max: '4', replicas: 0, status: { replicas: 0 } },
      {
        revision: '2',
        desired: '3',
        max: '4',
        replicas: 3,
        status: { replicas: 3, fullyLabeledReplicas: 3, readyReplicas: 3, availableReplicas: 3 },
      },
    ]);
  });

  const ended = (type: string, reason: string, message: string): object => ({
    type,
    status: 'True',
    reason,
    message,
    lastProbeTime: 'T',
    lastTransitionTime: 'T',
  });
  it.each<[string, Partial<Job['spec']>, string, object]>([
    [
      'a job that completed',
      { completions: 2, parallelism: 2 },
      '0',
      {
        startTime: 'T',
        completionTime: 'T',
        succeeded: 2,
        ready: 0,
        terminating: 0,
        uncountedTerminatedPods: {},
        conditions: [
          ended('Complete', 'CompletionsReached', 'Reached expected number of succeeded pods'),
          ended('SuccessCriteriaMet', 'CompletionsReached', 'Reached expected number of succeeded pods'),
        ],
      },
    ],
    [
      'a job that failed too often',
      { backoffLimit: 0 },
      '1',
      {
        startTime: 'T',
        failed: 1,
        ready: 0,
        terminating: 0,
        uncountedTerminatedPods: {},
        conditions: [
          ended('Failed', 'BackoffLimitExceeded', 'Job has reached the specified backoff limit'),
          ended('FailureTarget', 'BackoffLimitExceeded', 'Job has reached the specified backoff limit'),
        ],
      },
    ],
    [
      'a job that an exit code fails',
      { podFailurePolicy: { rules: [{ action: 'FailJob', onExitCodes: { operator: 'In', values: [42] } }] } },
      '42',
      {
        startTime: 'T',
        failed: 1,
        ready: 0,
        terminating: 0,
        uncountedTerminatedPods: {},
        conditions: [
          ended(
            'Failed',
            'PodFailurePolicy',
            'Container main for pod POD failed with exit code 42 matching FailJob rule at index 0',
          ),
          ended(
            'FailureTarget',
            'PodFailurePolicy',
            'Container main for pod POD failed with exit code 42 matching FailJob rule at index 0',
          ),
        ],
      },
    ],
  ])('writes the status of %s word for word', async (_name, spec, exitCode, expected) => {
    const namespace = await freshNamespace();
    await client.create(JOBS, job(namespace, spec, { [EXIT_ANNOTATION]: exitCode }));
    const done = await waitFor(async () => {
      const found = await client.get(JOBS, { namespace, name: 'once' });
      return conditionsOf(found).some((text) => /^(Complete|Failed)=True/.test(text)) && found;
    });
    const text = JSON.stringify(normalized(done.status)).replaceAll(
      new RegExp(`${namespace}/once-\\w+`, 'g'),
      'POD',
    );
    expect(JSON.parse(text)).toEqual(expected);
  });

  it('suspends a job and resumes it', async () => {
    const namespace = await freshNamespace();
    const key = { namespace, name: 'once' };
    await client.create(JOBS, job(namespace, {}, {}));
    await waitFor(async () => (await client.get(JOBS, key)).status?.ready === 1);
    await client.merge(JOBS, key, { spec: { suspend: true } });
    const suspended = await waitFor(async () => {
      const found = await client.get(JOBS, key);
      return (
        conditionsOf(found).includes('Suspended=True JobSuspended') &&
        (found.status?.terminating ?? 0) === 0 &&
        !found.status?.active &&
        found
      );
    });
    await client.merge(JOBS, key, { spec: { suspend: false } });
    const resumed = await waitFor(async () => {
      const found = await client.get(JOBS, key);
      return found.status?.ready === 1 && found;
    });
    expect(conditionsOf(resumed)).toEqual(['Suspended=False JobResumed']);
    expect(Date.parse(resumed.status?.startTime ?? '')).toBeGreaterThanOrEqual(
      Date.parse(suspended.status?.startTime ?? ''),
    );
  });

  it('deletes an object whose owner never existed, and drops that reference when another owner exists', async () => {
    const namespace = await freshNamespace();
    const owner = await client.create(CONFIG_MAPS, { metadata: { namespace, name: 'owner' } });
    const reference = (name: string, uid: string): OwnerReference => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      name,
      uid,
    });
    const absent = reference('absent', '00000000-0000-4000-8000-000000000000');
    const there = reference('owner', owner.metadata.uid ?? '');
    await client.create(CONFIG_MAPS, { metadata: { namespace, name: 'orphan', ownerReferences: [absent] } });
    await client.create(CONFIG_MAPS, {
      metadata: { namespace, name: 'shared', ownerReferences: [absent, there] },
    });
    await waitFor(async () => (await client.find(CONFIG_MAPS, { namespace, name: 'orphan' })) === undefined);
    await waitFor(async () => {
      const { metadata } = await client.get(CONFIG_MAPS, { namespace, name: 'shared' });
      return metadata.ownerReferences?.length === 1 && metadata.ownerReferences[0]?.name === 'owner';
    });
  });

  it('collects for one namespace while another names many owners that do not exist', async () => {
    const [noisy, quiet] = [await freshNamespace(), await freshNamespace()];
    const absent = (name: string): OwnerReference => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      name,
      uid: randomUUID(),
    });
    const crowd = Array.from({ length: 5 }, (_, n) =>
      client.create(CONFIG_MAPS, {
        metadata: {
          namespace: noisy,
          name: `crowd-${n}`,
          ownerReferences: Array.from({ length: 250 }, (_, at) => absent(`absent-${at}`)),
        },
      }),
    );
    await Promise.all(crowd);
    const key = { namespace: quiet, name: 'orphan' };
    await client.create(CONFIG_MAPS, { metadata: { ...key, ownerReferences: [absent('absent')] } });
    await waitFor(async () => !(await client.find(CONFIG_MAPS, key)));
    const waiting = async () =>
      (await client.list(CONFIG_MAPS, { namespace: noisy })).items.filter(({ metadata }) =>
        metadata.name.startsWith('crowd'),
      ).length;
    expect(await waiting()).toBe(5);
    await waitFor(async () => (await waiting()) === 0);
  });

  it('creates new pods with Recreate only after the last old pod has ended', async () => {
    const namespace = await freshNamespace();
    const key = { namespace, name: 'web' };
    await client.create(DEPLOYMENTS, deployment(namespace, { replicas: 2, strategy: { type: 'Recreate' } }));
    await waitFor(async () => (await client.get(DEPLOYMENTS, key)).status?.availableReplicas === 2);
    const images = new Set<string>();
    const mixtures: string[] = [];
    const off = informers.of(PODS).on(({ object }) => {
      if (object.metadata.namespace !== namespace) return;
      const running = informers
        .of(PODS)
        .list(namespace)
        .map(({ spec }) => spec.containers[0]?.image ?? '');
      for (const image of running) images.add(image);
      if (new Set(running).size > 1) mixtures.push(running.join());
    });
    await client.merge(DEPLOYMENTS, key, {
      spec: { template: { spec: { containers: [{ name: 'main', image: 'b' }] } } },
    });
    await waitFor(async () => {
      const { items } = await client.list(PODS, { namespace });
      return (
        items.length === 2 &&
        items.every(({ spec, status }) => spec.containers[0]?.image === 'b' && status?.phase === 'Running')
      );
    });
    off();
    expect(mixtures).toEqual([]);
    expect([...images].sort()).toEqual(['a', 'b']);
  });

  it('rolls back to the former replica set as a new revision', async () => {
    const namespace = await freshNamespace();
    const key = { namespace, name: 'web' };
    const roll = async (image: string): Promise<void> => {
      await client.merge(DEPLOYMENTS, key, {
        spec: { template: { spec: { containers: [{ name: 'main', image }] } } },
      });
      await waitFor(async () => {
        const { items } = await client.list(PODS, { namespace });
        return items.length === 2 && items.every(({ spec }) => spec.containers[0]?.image === image);
      });
    };
    await client.create(DEPLOYMENTS, deployment(namespace));
    await waitFor(async () => (await client.get(DEPLOYMENTS, key)).status?.availableReplicas === 2);
    await roll('b');
    await roll('a');
    const { items } = await client.list(REPLICA_SETS, { namespace });
    const revisions = items.map(({ metadata, spec }) => [
      spec.template.spec.containers[0]?.image,
      metadata.annotations?.['deployment.kubernetes.io/revision'],
      metadata.annotations?.['deployment.kubernetes.io/revision-history'],
    ]);
    expect(revisions.toSorted()).toEqual([
      ['a', '3', '1'],
      ['b', '2', undefined],
    ]);
  });

  it('ignores a new template while a deployment is paused, but scales it', async () => {
    const namespace = await freshNamespace();
    const key = { namespace, name: 'web' };
    await client.create(DEPLOYMENTS, deployment(namespace));
    await waitFor(async () => (await client.get(DEPLOYMENTS, key)).status?.availableReplicas === 2);
    const spec = {
      paused: true,
      replicas: 3,
      template: { spec: { containers: [{ name: 'main', image: 'b' }] } },
    };
    await client.merge(DEPLOYMENTS, key, { spec });
    const paused = await waitFor(async () => {
      const found = await client.get(DEPLOYMENTS, key);
      return (
        found.status?.availableReplicas === 3 &&
        conditionsOf(found).some((text) => text.includes('Paused')) &&
        found
      );
    });
    expect(conditionsOf(paused)).toEqual([
      'Available=True MinimumReplicasAvailable',
      'Progressing=Unknown DeploymentPaused',
    ]);
    expect(
      (await client.list(PODS, { namespace })).items.map(({ spec: { containers } }) => containers[0]?.image),
    ).toEqual(['a', 'a', 'a']);
    await client.merge(DEPLOYMENTS, key, { spec: { paused: false } });
    await waitFor(async () => {
      const found = await client.get(DEPLOYMENTS, key);
      return (
        found.status?.updatedReplicas === 3 &&
        conditionsOf(found).includes('Progressing=True NewReplicaSetAvailable')
      );
    });
  });

  it('adopts pods that a replica set selects, and releases pods that it no longer selects', async () => {
    const namespace = await freshNamespace();
    await client.create(PODS, {
      metadata: { namespace, name: 'stray', labels: { app: 'web' } },
      spec: { containers: [{ name: 'main', image: 'a' }] },
    });
    await client.create(REPLICA_SETS, {
      metadata: { namespace, name: 'set' },
      spec: { replicas: 2, selector: { matchLabels: { app: 'web' } }, template: template() },
    });
    const isOwned = async (): Promise<boolean> =>
      (await client.get(PODS, { namespace, name: 'stray' })).metadata.ownerReferences?.[0]?.name === 'set';
    await waitFor(isOwned);
    await waitFor(
      async () =>
        (await client.get(REPLICA_SETS, { namespace, name: 'set' })).status?.availableReplicas === 2,
    );
    // a pod too many, made before the orphan was seen, may still be ending
    await waitFor(async () => (await client.list(PODS, { namespace })).items.length === 2);
    await client.merge(PODS, { namespace, name: 'stray' }, { metadata: { labels: { app: 'other' } } });
    await waitFor(async () => !(await isOwned()));
    await waitFor(async () => (await client.list(PODS, { namespace })).items.length === 3);
  });
});
