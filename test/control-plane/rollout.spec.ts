import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import {
  ANNOTATION,
  type AgentDeploymentSpec,
  type AgentRevision,
  DEPLOYMENTS,
  EVENTS,
  findCondition,
  idOf,
  isConditionTrue,
  LABEL,
  RESOURCES,
  type ResourceRef,
  SECRETS,
  SERVICES,
} from '#lib/resources';
import {
  temporaryFolder,
  testEmbeddedKube,
  testPostgres,
  waitFor as waitWithin,
  type WaitOptions,
} from '#lib/testing';
import { ControlPlane, NAMESPACE, PATIENT } from './control-plane.js';

const waitFor = <T>(probe: () => T | Promise<T>, options: WaitOptions = {}) =>
  waitWithin(probe, { ...PATIENT, ...options });

const GRAPH_FAILS = {
  ready: false,
  state: { terminated: { exitCode: 78, message: '{"reason":"GraphLoadFailed","message":"no such file"}' } },
};

describe('control plane', () => {
  const server = testEmbeddedKube();
  const postgres = testPostgres();
  const folder = temporaryFolder();
  let plane: ControlPlane;

  beforeAll(async () => {
    const { uri } = await postgres.freshDatabase();
    plane = await ControlPlane.start({ kubeconfigPath: server.kubeconfigPath, databaseUri: uri, folder });
  }, 60_000);
  afterAll(() => plane.stop());

  const at = (name: string) => ({ namespace: NAMESPACE, name });
  async function deploy(name: string, spec: Partial<AgentDeploymentSpec> = {}): Promise<void> {
    await plane.client.create(RESOURCES.AgentDeployment, {
      metadata: at(name),
      spec: {
        source: 'external_image',
        sourceConfig: {},
        sourceRevisionConfig: { imageUri: 'example.org/agent:1' },
        suspend: false,
        revisionHistoryLimit: 10,
        minReadySeconds: 0,
        ...spec,
      },
    });
  }
  const change = (name: string, image: number) =>
    plane.client.merge(RESOURCES.AgentDeployment, at(name), {
      spec: { sourceRevisionConfig: { imageUri: `example.org/agent:${image}` } },
    });
  const suspend = (name: string, isSuspended: boolean) =>
    plane.client.merge(RESOURCES.AgentDeployment, at(name), { spec: { suspend: isSuspended } });
  const revision = (name: string) => plane.client.get(RESOURCES.AgentRevision, at(name));
  const revisions = async (name: string): Promise<readonly AgentRevision[]> =>
    (await plane.client.list(RESOURCES.AgentRevision, { namespace: NAMESPACE })).items.filter(
      ({ spec }) => spec.deploymentName === name,
    );
  const served = async (name: string) =>
    (await plane.client.find(SERVICES, at(name)))?.spec.selector?.['agentplane.dev/revision'];
  const saying = (name: string, type: string, reason: string) =>
    waitFor(
      async () => {
        const found = findCondition((await revision(name)).status?.conditions, type);
        return found?.reason === reason && found;
      },
      { what: `${name} to say ${type} ${reason}` },
    );
  /** Reasons of everything that was told of a revision. */
  const said = async (name: string): Promise<readonly (string | undefined)[]> =>
    (
      await plane.client.list(EVENTS, { namespace: NAMESPACE, fieldSelector: `involvedObject.name=${name}` })
    ).items.map(({ reason }) => reason);
  /** What a deployment says of the revision that serves, at any time. */
  function watchActive(name: string) {
    const abort = new AbortController();
    const seen: (string | undefined)[] = [];
    const follow = async (): Promise<void> => {
      const events = plane.client.watch(RESOURCES.AgentDeployment, {
        namespace: NAMESPACE,
        fieldSelector: `metadata.name=${name}`,
        signal: abort.signal,
      });
      for await (const event of events)
        if (event.type === 'ADDED' || event.type === 'MODIFIED')
          seen.push(event.object.status?.activeRevisionName);
    };
    const following = follow();
    return {
      async until(last: string) {
        await waitFor(() => seen.at(-1) === last);
        abort.abort();
        await following;
        return seen;
      },
    };
  }
  async function serve(name: string, number: number): Promise<void> {
    await plane.report(`${name}-0000${number}`, { ready: true });
    await waitFor(async () => (await served(name)) === `${name}-0000${number}`);
  }

  it('reports that the listener is ready', async () => {
    const [pod] = await waitFor(async () => {
      const pods = await plane.pods('agentplane.dev/listener=default,app.kubernetes.io/component=listener');
      return pods.length > 0 && pods;
    });
    if (pod) await plane.reportPod(pod, { ready: true });
    await waitFor(async () =>
      isConditionTrue(
        (await plane.client.get(RESOURCES.Listener, at('default'))).status?.conditions,
        'Ready',
      ),
    );
  });

  it('brings a revision up, and switches to the next when it is ready', async () => {
    await deploy('agent');
    await serve('agent', 1);
    await waitFor(async () => {
      const { status } = await plane.client.get(RESOURCES.AgentDeployment, at('agent'));
      return isConditionTrue(status?.conditions, 'Ready') && status?.activeRevisionName === 'agent-00001';
    });
    await change('agent', 2);
    await saying('agent-00002', 'Ready', 'Deploying');
    expect(await served('agent')).toBe('agent-00001');
    const watching = watchActive('agent');
    await serve('agent', 2);
    await waitFor(async () => (await plane.podsOf('agent-00001')).length === 0);
    expect(findCondition((await revision('agent-00001')).status?.conditions, 'Active')?.status).toBe('False');
    expect(new Set(await watching.until('agent-00002'))).toEqual(new Set(['agent-00001', 'agent-00002']));
  });

  it('keeps the old revision when the new one fails, for good', async () => {
    await change('agent', 3);
    await plane.report('agent-00003', GRAPH_FAILS);
    const failed = await saying('agent-00003', 'Failed', 'GraphLoadFailed');
    expect(failed.message).toContain('no such file');
    await waitFor(async () => (await plane.client.find(DEPLOYMENTS, at('agent-00003'))) === undefined);
    expect(await served('agent')).toBe('agent-00002');
  });

  it('goes back to the former revision when the one that took over fails, and reports it everywhere', async () => {
    await plane.program('listener').end('SIGTERM');
    await plane.startListener({ standbyWarmMs: 60_000 });
    await deploy('fallible', { minReadySeconds: 1 });
    await serve('fallible', 1);
    await change('fallible', 2);
    await plane.report('fallible-00002', { ready: true });
    const readyAt = Date.now();
    await waitFor(async () => (await served('fallible')) === 'fallible-00002');
    expect(Date.now() - readyAt).toBeGreaterThan(900);
    const ended = { exitCode: 3, message: 'Error: no model' };
    await plane.report('fallible-00002', { ready: false, restartCount: 0, state: { terminated: ended } });
    const crashed = await saying('fallible-00002', 'Ready', 'Crashed');
    expect(crashed.message).toBe('container agent exited with code 3: Error: no model');
    expect(await served('fallible')).toBe('fallible-00002');
    await plane.report('fallible-00002', { ready: false, restartCount: 1, state: { terminated: ended } });
    await waitFor(async () => (await served('fallible')) === 'fallible-00001');
    const failed = await saying('fallible-00002', 'Failed', 'CrashLoop');
    expect(failed.message).toBe('container agent exited 2 times, last with code 3: Error: no model');
    await saying('fallible-00002', 'Active', 'RolledBack');
    await saying('fallible-00001', 'Ready', 'Serving');
    const deployment = await waitFor(async () => {
      const found = await plane.client.get(RESOURCES.AgentDeployment, at('fallible'));
      return found.status?.activeRevisionName === 'fallible-00001' && found;
    });
    expect(findCondition(deployment.status?.conditions, 'RolledBack')).toMatchObject({
      status: 'True',
      reason: 'CrashLoop',
      message: `fallible-00002: it failed while it served; the Service points to fallible-00001 again; it failed: ${failed.message}`,
    });
    await waitFor(async () => (await said('fallible')).includes('RolledBack'));
    await waitFor(async () => {
      const reasons = await said('fallible-00002');
      return ['Crashed', 'CrashLoop'].every((reason) => reasons.includes(reason));
    });
    // the next revision is tried as any other
    await change('fallible', 3);
    await serve('fallible', 3);
    await waitFor(async () => {
      const { status } = await plane.client.get(RESOURCES.AgentDeployment, at('fallible'));
      return findCondition(status?.conditions, 'RolledBack') === undefined;
    });
    await plane.program('listener').end('SIGTERM');
    await plane.startListener();
  });

  it('suspends and resumes without judging any revision anew', async () => {
    await change('agent', 4);
    const deploying = await saying('agent-00004', 'WorkloadsReady', 'Deploying');
    await suspend('agent', true);
    await waitFor(async () => (await plane.podsOf('agent-00002')).length === 0);
    await saying('agent-00004', 'Ready', 'Suspended');
    expect(findCondition((await revision('agent-00003')).status?.conditions, 'Failed')?.status).toBe('True');
    expect((await revision('agent-00002')).status?.serving).toBe(true);
    await waitFor(() => Date.now() > Date.parse(deploying.lastTransitionTime) + 2000);
    await suspend('agent', false);
    // what it may take to become ready counts from here
    const again = await saying('agent-00004', 'WorkloadsReady', 'Deploying');
    expect(Date.parse(again.lastTransitionTime)).toBeGreaterThan(Date.parse(deploying.lastTransitionTime));
    await serve('agent', 4);
    expect(isConditionTrue((await revision('agent-00003')).status?.conditions, 'Failed')).toBe(true);
  });

  it('gives up on a revision that is not ready in time', async () => {
    await plane.program('listener').end('SIGTERM');
    await plane.startListener({ readinessMs: 1000 });
    await change('agent', 5);
    await saying('agent-00005', 'Failed', 'ReadinessTimeout');
    expect(await served('agent')).toBe('agent-00004');
    await plane.program('listener').end('SIGTERM');
    await plane.startListener();
  });

  it('makes a revision when the Secret of a deployment that was touched has changed', async () => {
    await plane.client.create(SECRETS, { metadata: at('variables'), data: { A: 'MQ==' } });
    await deploy('secretive', { secretsRef: { name: 'variables' } });
    await serve('secretive', 1);
    await plane.client.merge(SECRETS, at('variables'), { data: { A: 'Mg==' } });
    await plane.client.merge(RESOURCES.AgentDeployment, at('secretive'), {
      metadata: { annotations: { touched: 'yes' } },
    });
    await serve('secretive', 2);
    expect(await revisions('secretive')).toHaveLength(2);
  });

  it('replaces the pods of a deployment whose database has another URI, without a revision', async () => {
    await deploy('moved');
    await serve('moved', 1);
    const uri = async () =>
      Buffer.from(
        (await plane.client.get(SECRETS, at('moved-database'))).data?.['POSTGRES_URI'] ?? '',
        'base64',
      ).toString();
    const [current, [former]] = [await uri(), await plane.podsOf('moved-00001')];
    // of an earlier version of the platform
    await plane.client.merge(SECRETS, at('moved-database'), {
      data: { POSTGRES_URI: Buffer.from(`${current}?application_name=former`).toString('base64') },
    });
    await plane.client.merge(RESOURCES.AgentDeployment, at('moved'), {
      metadata: { annotations: { touched: 'yes' } },
    });
    const next = await waitFor(async () =>
      (await plane.podsOf('moved-00001')).find(({ metadata }) => metadata.name !== former?.metadata.name),
    );
    expect(await uri()).toBe(current);
    expect((await plane.podsOf('moved-00001')).map(({ metadata }) => metadata.name)).toContain(
      former?.metadata.name,
    );
    await plane.reportPod(next, { ready: true });
    await waitFor(async () => (await plane.podsOf('moved-00001')).length === 1);
    expect([await served('moved'), (await revisions('moved')).length]).toEqual(['moved-00001', 1]);
  });

  it('makes the tracing project again that was deleted, and reports its id', async () => {
    await deploy('projectless');
    await serve('projectless', 1);
    const { traces, tenantId, client } = plane;
    const projectId = async () =>
      (await client.get(RESOURCES.AgentDeployment, at('projectless'))).status?.tracingProjectId;
    const first = await projectId();
    expect(await traces.projects.delete(tenantId, first ?? '')).toBe(true);
    await client.merge(RESOURCES.AgentDeployment, at('projectless'), {
      metadata: { annotations: { touched: 'yes' } },
    });
    const second = await waitFor(async () => {
      const found = await projectId();
      return found !== first && found;
    });
    expect(await traces.projects.find(tenantId, { id: second })).toMatchObject({ id: second });
    expect(await revisions('projectless')).toHaveLength(1);
  });

  const destinationWith = (name: string, secret: string) =>
    plane.client.create(RESOURCES.BulkExportDestination, {
      metadata: at(name),
      spec: {
        type: 'object_store',
        config: { bucketName: 'bucket', includeBucketInPrefix: true, endpointUrl: 'http://127.0.0.1:1' },
        credentialsSecretRef: { name: secret },
      },
    });

  it('gives an agent the Secret that a person shares with a destination', async () => {
    await plane.client.create(SECRETS, { metadata: at('shared'), data: { A: 'MQ==' } });
    await destinationWith('sharing', 'shared');
    await deploy('sharing', { secretsRef: { name: 'shared' } });
    await serve('sharing', 1);
  });

  it.each([
    'elsewhere',
    'secretive-platform',
    'secretive-database',
    'secretive-00001-env',
    'marked',
    'signing',
  ])('gives the Secret %s of the platform to no agent', async (name) => {
    const types: Readonly<Record<string, string>> = {
      marked: 'agentplane.dev/destination-credentials',
      signing: 'agentplane.dev/webhook-secret',
    };
    const type = types[name];
    if (type !== undefined)
      await plane.client.create(SECRETS, { metadata: at(name), type, data: { A: 'MQ==' } });
    if (name === 'elsewhere') {
      const { apiVersion = '', kind = '', metadata } = await destinationWith('nowhere', name);
      const owner = { apiVersion, kind, name: metadata.name, uid: metadata.uid ?? '' };
      const made = { ...at(name), ownerReferences: [owner] };
      await plane.client.create(SECRETS, { metadata: made, data: { A: 'MQ==' } });
    }
    // what a person could do to take a mark off
    await plane.client.merge(SECRETS, at(name), { metadata: { labels: null } });
    await deploy(`takes-${name}`, { secretsRef: { name } });
    await waitFor(async () => {
      const { status } = await plane.client.get(RESOURCES.AgentDeployment, at(`takes-${name}`));
      const ready = findCondition(status?.conditions, 'Ready');
      return ready?.status === 'False' && ready.reason === 'SecretRefused';
    });
    expect(await revisions(`takes-${name}`)).toEqual([]);
  });

  it('keeps the database of a deployment from another that names its id', async () => {
    const uriOf = async (name: string): Promise<string> => {
      const secret = await waitFor(() => plane.client.find(SECRETS, at(`${name}-database`)));
      return Buffer.from(secret.data?.['POSTGRES_URI'] ?? '', 'base64').toString();
    };
    const works = async (uri: string): Promise<unknown> => {
      const client = new pg.Client({ connectionString: uri });
      await client.connect();
      return client.query('SELECT 1').finally(() => client.end());
    };
    // the thief is the older one, which keeps an id that two have
    for (const name of ['thief', 'robbed']) {
      await deploy(name, { suspend: true });
      await uriOf(name);
    }
    const [own, robbed] = [await uriOf('thief'), await uriOf('robbed')];
    const id = idOf(await plane.client.get(RESOURCES.AgentDeployment, at('robbed'))) ?? '';
    const steal = { metadata: { annotations: { [ANNOTATION.id]: id } } };
    await plane.client.merge(RESOURCES.AgentDeployment, at('thief'), {
      ...steal,
      spec: { sourceConfig: { resourceSpec: { dbMaxConnections: 3 } } },
    });
    await waitFor(async () => {
      const { metadata, status } = await plane.client.get(RESOURCES.AgentDeployment, at('thief'));
      const database = findCondition(status?.conditions, 'DatabaseReady');
      return database?.status === 'True' && database.observedGeneration === metadata.generation;
    });
    expect(await uriOf('thief')).toBe(own);
    await works(robbed);
    await plane.client.merge(RESOURCES.AgentDeployment, at('thief'), steal);
    await plane.client.delete(RESOURCES.AgentDeployment, at('thief'));
    await waitFor(async () => !(await plane.client.find(RESOURCES.AgentDeployment, at('thief'))));
    await works(robbed);
    await expect(works(own)).rejects.toThrow();
  });

  it('reports that the server has fewer connections than a deployment asks for', async () => {
    const asking = (dbMaxConnections: number) => ({ sourceConfig: { resourceSpec: { dbMaxConnections } } });
    const message = async (): Promise<string | undefined> => {
      const { status } = await plane.client.get(RESOURCES.AgentDeployment, at('many'));
      return findCondition(status?.conditions, 'DatabaseReady')?.message;
    };
    await deploy('many', { suspend: true, ...asking(10_000) });
    await waitFor(async () => (await message())?.includes('with 32 connections at most instead of 10000'));
    await plane.client.merge(RESOURCES.AgentDeployment, at('many'), { spec: asking(9) });
    await waitFor(async () => (await message()) === 'database exists');
  });

  it('waits a short while for a Secret that is created later', async () => {
    await deploy('early', { secretsRef: { name: 'late' } });
    await waitFor(async () => {
      const { status } = await plane.client.get(RESOURCES.AgentDeployment, at('early'));
      return findCondition(status?.conditions, 'RevisionReady')?.reason === 'SecretMissing';
    });
    await plane.client.create(SECRETS, { metadata: at('late'), data: {} });
    await serve('early', 1);
  });

  /** Asks for the revision of this number again, and waits until the repeat exists. */
  async function rollBack(name: string, from: number, to: number): Promise<void> {
    const fromRevisionId = idOf(await revision(`${name}-0000${from}`));
    if (fromRevisionId === undefined) throw new Error(`${name}-0000${from} has no id`);
    await plane.client.merge(RESOURCES.AgentDeployment, at(name), {
      spec: { revisionRequest: { id: randomUUID(), fromRevisionId } },
    });
    await waitFor(() => plane.client.find(RESOURCES.AgentRevision, at(`${name}-0000${to}`)));
  }
  const target = async (name: string) => {
    const service = await plane.client.find(SERVICES, at(name));
    return [service?.metadata.labels?.[LABEL.revision], service?.spec.selector?.[LABEL.revision]];
  };
  const deploymentsOf = async (name: string) =>
    (
      await plane.client.list(DEPLOYMENTS, {
        namespace: NAMESPACE,
        labelSelector: `${LABEL.deployment}=${name}`,
      })
    ).items.map(({ metadata, spec }) => `${metadata.name}: ${spec.replicas}`);

  it('rolls back to a warm revision within two seconds and without a new Deployment', async () => {
    await plane.program('listener').end('SIGTERM');
    await plane.startListener({ standbyWarmMs: 60_000 });
    await deploy('back');
    await serve('back', 1);
    await change('back', 2);
    await serve('back', 2);
    const [before] = await plane.podsOf('back-00001');
    const startedMs = Date.now();
    await rollBack('back', 1, 3);
    await waitFor(async () => (await target('back'))[0] === 'back-00003');
    expect(Date.now() - startedMs).toBeLessThan(2000);
    expect(await target('back')).toEqual(['back-00003', 'back-00001']);
    const { spec, status } = await saying('back-00003', 'Ready', 'Serving').then(() =>
      revision('back-00003'),
    );
    expect([spec.redeployOf, status?.workload, status?.image]).toEqual([
      'back-00001',
      'back-00001',
      'example.org/agent:1',
    ]);
    // the very same pod, which never stopped
    expect((await plane.podsOf('back-00001')).map(({ metadata }) => metadata.name)).toEqual([
      before?.metadata.name,
    ]);
    expect(await deploymentsOf('back')).toEqual(['back-00001: 1', 'back-00002: 1']);
  });

  it('rolls back to a revision at zero pods on the Deployment that was kept', async () => {
    await plane.program('listener').end('SIGTERM');
    await plane.startListener();
    await waitFor(async () => (await plane.podsOf('back-00002')).length === 0);
    expect(await deploymentsOf('back')).toEqual(['back-00001: 1', 'back-00002: 0']);
    await rollBack('back', 2, 4);
    await plane.report('back-00002', { ready: true });
    await waitFor(async () => (await target('back'))[0] === 'back-00004');
    expect(await target('back')).toEqual(['back-00004', 'back-00002']);
    await waitFor(async () => (await plane.podsOf('back-00001')).length === 0);
    expect(await deploymentsOf('back')).toEqual(['back-00001: 0', 'back-00002: 1']);
  });

  it('keeps the Deployment of a rollback that fails', async () => {
    await rollBack('back', 1, 5);
    await plane.report('back-00001', GRAPH_FAILS);
    await saying('back-00005', 'Failed', 'GraphLoadFailed');
    await waitFor(async () => (await plane.podsOf('back-00001')).length === 0);
    expect(await target('back')).toEqual(['back-00004', 'back-00002']);
    expect(await deploymentsOf('back')).toEqual(['back-00001: 0', 'back-00002: 1']);
  });

  it.each([
    ['Service', 'taken-a', SERVICES, { spec: { ports: [{ port: 1 }] } }],
    [
      'Deployment',
      'taken-b-00001',
      DEPLOYMENTS,
      {
        spec: {
          replicas: 0,
          selector: { matchLabels: { a: 'b' } },
          template: { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
        },
      },
    ],
  ])('leaves a %s of another owner alone, and reports it', async (_, name, ref, body) => {
    const made = await plane.client.create(ref as typeof SERVICES, { metadata: at(name), ...body } as never);
    const deployment = name.replace(/-00001$/, '');
    await deploy(deployment);
    if (name === deployment) await plane.report(`${deployment}-00001`, { ready: true });
    await saying(`${deployment}-00001`, 'Ready', 'NotOurs');
    const { metadata, spec } = await plane.client.get(ref as typeof SERVICES, at(name));
    expect([metadata.labels, metadata.ownerReferences, spec]).toEqual([undefined, undefined, made.spec]);
  });

  it('fails a revision that the API server refuses', async () => {
    await deploy('invalid', { sourceConfig: { resourceSpec: { labels: { team: 'no such label!' } } } });
    await saying('invalid-00001', 'Failed', 'InvalidWorkload');
  });

  it('makes a deployment of the same name anew, whatever is left of the former one', async () => {
    const first = await revision('secretive-00001');
    const hold = (finalizers: string[]) =>
      plane.client.merge(SERVICES, at('secretive'), { metadata: { finalizers } });
    const holdKey = (finalizers: string[]) =>
      plane.client.merge(SECRETS, at('secretive-platform'), { metadata: { finalizers } });
    await hold(['test.dev/hold']);
    await holdKey(['test.dev/hold']);
    await plane.client.delete(RESOURCES.AgentDeployment, at('secretive'));
    await waitFor(
      async () => (await plane.client.find(RESOURCES.AgentDeployment, at('secretive'))) === undefined,
    );
    await deploy('secretive');
    // a key that was taken back makes no revision
    const progress = async () =>
      findCondition(
        (await plane.client.get(RESOURCES.AgentDeployment, at('secretive'))).status?.conditions,
        'DatabaseReady',
      );
    await waitFor(async () => (await progress())?.reason === 'Deleting');
    expect(await revisions('secretive')).toEqual([]);
    await holdKey([]);
    // the Service points to a revision of this name, and that is another one
    await saying('secretive-00001', 'WorkloadsReady', 'Deploying');
    expect(await said('secretive-00001')).not.toContain('NotOurs');
    await plane.report('secretive-00001', { ready: true });
    await saying('secretive-00001', 'Ready', 'NotOurs');
    await hold([]);
    await saying('secretive-00001', 'Ready', 'Serving');
    expect((await revision('secretive-00001')).metadata.uid).not.toBe(first.metadata.uid);
    expect(await revisions('secretive')).toHaveLength(1);
  });

  it('makes nothing twice when its programs are killed at any time', async () => {
    await deploy('killed');
    for (const wait of [0, 30, 80, 150, 300]) {
      await new Promise((resolve) => setTimeout(resolve, wait));
      await plane.program('controller').end('SIGKILL');
      await plane.program('listener').end('SIGKILL');
      await plane.startController();
      await plane.startListener();
    }
    await serve('killed', 1);
    expect(await revisions('killed')).toHaveLength(1);
    expect(await plane.podsOf('killed-00001')).toHaveLength(1);
  });

  it('writes nothing when nothing has changed', async () => {
    const versions = async (): Promise<Record<string, string | undefined>> => {
      const found: Record<string, string | undefined> = {};
      const { AgentDeployment, AgentRevision, BulkExportDestination, Workspace } = RESOURCES;
      for (const ref of [AgentDeployment, AgentRevision, BulkExportDestination, Workspace])
        for (const { metadata } of (await plane.client.list(ref as typeof RESOURCES.Workspace)).items)
          found[`${ref.kind} ${metadata.name}`] = metadata.resourceVersion;
      const children: readonly ResourceRef[] = [DEPLOYMENTS, SERVICES, SECRETS];
      for (const ref of children)
        for (const { metadata } of (await plane.client.list(ref, { namespace: NAMESPACE })).items)
          found[`${ref.kind} ${metadata.name}`] = metadata.resourceVersion;
      return found;
    };
    // what blocked revisions and retiring ones still do comes to rest
    let last = '';
    let looks = 0;
    await waitFor(
      async () => {
        const now = JSON.stringify(await versions());
        looks = now === last ? looks + 1 : 0;
        last = now;
        return looks >= 4;
      },
      { intervalMs: 1000 },
    );
    const before = await versions();
    for (const name of ['controller', 'listener'] as const) await plane.program(name).end('SIGTERM');
    await plane.startController();
    await plane.startListener();
    // whoever has done this has passed over all that was there before
    await deploy('marker');
    await serve('marker', 1);
    const after = await versions();
    for (const name of Object.keys(after)) if (name.includes('marker')) delete after[name];
    expect(after).toEqual(before);
  });

  it('reports by a deployment that its Listener was deleted', async () => {
    await plane.client.create(RESOURCES.Listener, {
      ...{ metadata: at('gone'), spec: { computeType: 'cluster', computeId: 'elsewhere' } },
    });
    await deploy('untended', { listenerRef: { name: 'gone' } });
    await waitFor(async () => (await revisions('untended')).length === 1);
    await plane.client.delete(RESOURCES.Listener, at('gone'));
    const ready = await waitFor(
      async () => {
        const { status } = await plane.client.get(RESOURCES.AgentDeployment, at('untended'));
        const found = findCondition(status?.conditions, 'Ready');
        return found?.reason === 'ListenerMissing' && found;
      },
      // at once, and not with the next look at the tracing project
      { timeoutMs: 20_000 },
    );
    expect(ready.message).toMatch(/^Listener gone does not exist in this namespace; create it/);
    await waitFor(async () => (await said('untended')).includes('ListenerMissing'));
  });

  it('ends without warnings or errors in the logs', async () => {
    expect(plane.complaints).toEqual([]);
  });
});
