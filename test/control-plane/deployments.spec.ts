import { describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { ANNOTATION, DEPLOYMENTS, findCondition, idOf, RESOURCES, SECRETS, SERVICES } from '#lib/resources';
import { waitFor } from '#lib/testing';
import { at, GRAPH_FAILS, testRollouts } from './rollout-plane.js';

/** One control plane for what is below; the last tests look at everything that they left. */
const rollouts = testRollouts();

describe('a rollback', () => {
  it('rolls back to a warm revision without a new Deployment', async () => {
    await rollouts.restartListener({ standbyWarmMs: 60_000 });
    await rollouts.deploy('back');
    await rollouts.serve('back', 1);
    await rollouts.change('back', 2);
    await rollouts.serve('back', 2);
    const [before] = await rollouts.plane.podsOf('back-00001');
    await rollouts.rollBack('back', 1, 3);
    await waitFor(async () => (await rollouts.target('back'))[0] === 'back-00003');
    expect(await rollouts.target('back')).toEqual(['back-00003', 'back-00001']);
    const { spec, status } = await rollouts
      .saying('back-00003', 'Ready', 'Serving')
      .then(() => rollouts.revision('back-00003'));
    expect([spec.redeployOf, status?.workload, status?.image]).toEqual([
      'back-00001',
      'back-00001',
      'example.org/agent:1',
    ]);
    // the very same pod, which never stopped
    expect((await rollouts.plane.podsOf('back-00001')).map(({ metadata }) => metadata.name)).toEqual([
      before?.metadata.name,
    ]);
    expect(await rollouts.deploymentsOf('back')).toEqual(['back-00001: 1', 'back-00002: 1']);
  });

  it('rolls back to a revision at zero pods on the Deployment that was kept', async () => {
    await rollouts.restartListener();
    await waitFor(async () => (await rollouts.plane.podsOf('back-00002')).length === 0);
    expect(await rollouts.deploymentsOf('back')).toEqual(['back-00001: 1', 'back-00002: 0']);
    await rollouts.rollBack('back', 2, 4);
    await rollouts.plane.report('back-00002', { ready: true });
    await waitFor(async () => (await rollouts.target('back'))[0] === 'back-00004');
    expect(await rollouts.target('back')).toEqual(['back-00004', 'back-00002']);
    await waitFor(async () => (await rollouts.plane.podsOf('back-00001')).length === 0);
    expect(await rollouts.deploymentsOf('back')).toEqual(['back-00001: 0', 'back-00002: 1']);
  });

  it('keeps the Deployment of a rollback that fails', async () => {
    await rollouts.rollBack('back', 1, 5);
    await rollouts.plane.report('back-00001', GRAPH_FAILS);
    await rollouts.saying('back-00005', 'Failed', 'GraphLoadFailed');
    await waitFor(async () => (await rollouts.plane.podsOf('back-00001')).length === 0);
    expect(await rollouts.target('back')).toEqual(['back-00004', 'back-00002']);
    expect(await rollouts.deploymentsOf('back')).toEqual(['back-00001: 0', 'back-00002: 1']);
  });

  it('runs the image that a tag was, and not what it has become', async () => {
    const digest = `sha256:${'ab'.repeat(32)}`;
    const pinned = `example.org/agent@${digest}`;
    const imageOf = async (name: string) =>
      (await rollouts.plane.client.get(DEPLOYMENTS, at(name))).spec.template.spec.containers[0]?.image;
    await rollouts.deploy('tagged');
    await rollouts.plane.report('tagged-00001', { ready: true, imageID: pinned });
    await waitFor(async () => (await rollouts.revision('tagged-00001')).status?.pinnedImage === pinned);
    const [pod] = await rollouts.plane.podsOf('tagged-00001');
    // to run a digest in its place, the pod would be replaced
    expect(await imageOf('tagged-00001')).toBe('example.org/agent:1');
    await rollouts.suspend('tagged', true);
    await waitFor(async () => (await rollouts.plane.podsOf('tagged-00001')).length === 0);
    await rollouts.suspend('tagged', false);
    const [next] = await waitFor(async () => {
      const pods = await rollouts.plane.podsOf('tagged-00001');
      return pods.length > 0 && pods;
    });
    expect(next?.metadata.name).not.toBe(pod?.metadata.name);
    expect(next?.spec.containers[0]?.image).toBe(pinned);
    await rollouts.plane.report('tagged-00001', { ready: true, imageID: pinned });
    await rollouts.change('tagged', 2);
    await rollouts.serve('tagged', 2);
    await rollouts.rollBack('tagged', 1, 3);
    await waitFor(async () => (await rollouts.revision('tagged-00003')).status?.image === pinned);
  });
});

describe('what a deployment has in databases', () => {
  it('replaces the pods of a deployment whose database has another URI, without a revision', async () => {
    await rollouts.deploy('moved');
    await rollouts.serve('moved', 1);
    const uri = async () =>
      Buffer.from(
        (await rollouts.plane.client.get(SECRETS, at('moved-database'))).data?.['POSTGRES_URI'] ?? '',
        'base64',
      ).toString();
    const [current, [former]] = [await uri(), await rollouts.plane.podsOf('moved-00001')];
    // of an earlier version of the platform
    await rollouts.plane.client.merge(SECRETS, at('moved-database'), {
      data: { POSTGRES_URI: Buffer.from(`${current}?application_name=former`).toString('base64') },
    });
    await rollouts.touch('moved');
    const next = await waitFor(async () =>
      (await rollouts.plane.podsOf('moved-00001')).find(
        ({ metadata }) => metadata.name !== former?.metadata.name,
      ),
    );
    expect(await uri()).toBe(current);
    expect((await rollouts.plane.podsOf('moved-00001')).map(({ metadata }) => metadata.name)).toContain(
      former?.metadata.name,
    );
    await rollouts.plane.reportPod(next, { ready: true });
    await waitFor(async () => (await rollouts.plane.podsOf('moved-00001')).length === 1);
    expect([await rollouts.served('moved'), (await rollouts.revisions('moved')).length]).toEqual([
      'moved-00001',
      1,
    ]);
  });

  it('makes the tracing project again that was deleted, and reports its id', async () => {
    await rollouts.deploy('projectless');
    await rollouts.serve('projectless', 1);
    const { traces, tenantId, client } = rollouts.plane;
    const projectId = async () =>
      (await client.get(RESOURCES.AgentDeployment, at('projectless'))).status?.tracingProjectId;
    const first = await projectId();
    expect(await traces.projects.delete(tenantId, first ?? '')).toBe(true);
    await rollouts.touch('projectless');
    const second = await waitFor(async () => {
      const found = await projectId();
      return found !== first && found;
    });
    expect(await traces.projects.find(tenantId, { id: second })).toMatchObject({ id: second });
    expect(await rollouts.revisions('projectless')).toHaveLength(1);
  });

  it('keeps the database of a deployment from another that names its id', async () => {
    const uriOf = async (name: string): Promise<string> => {
      const secret = await waitFor(() => rollouts.plane.client.find(SECRETS, at(`${name}-database`)));
      return Buffer.from(secret.data?.['POSTGRES_URI'] ?? '', 'base64').toString();
    };
    const works = async (uri: string): Promise<unknown> => {
      const client = new pg.Client({ connectionString: uri });
      await client.connect();
      return client.query('SELECT 1').finally(() => client.end());
    };
    // the thief is the older one, which keeps an id that two have
    for (const name of ['thief', 'robbed']) {
      await rollouts.deploy(name, { suspend: true });
      await uriOf(name);
    }
    const [own, robbed] = [await uriOf('thief'), await uriOf('robbed')];
    const id = idOf(await rollouts.plane.client.get(RESOURCES.AgentDeployment, at('robbed'))) ?? '';
    const steal = { metadata: { annotations: { [ANNOTATION.id]: id } } };
    await rollouts.plane.client.merge(RESOURCES.AgentDeployment, at('thief'), {
      ...steal,
      spec: { sourceConfig: { resourceSpec: { dbMaxConnections: 3 } } },
    });
    await waitFor(async () => {
      const { metadata, status } = await rollouts.plane.client.get(RESOURCES.AgentDeployment, at('thief'));
      const database = findCondition(status?.conditions, 'DatabaseReady');
      return database?.status === 'True' && database.observedGeneration === metadata.generation;
    });
    expect(await uriOf('thief')).toBe(own);
    await works(robbed);
    await rollouts.plane.client.merge(RESOURCES.AgentDeployment, at('thief'), steal);
    await rollouts.plane.client.delete(RESOURCES.AgentDeployment, at('thief'));
    await waitFor(async () => !(await rollouts.plane.client.find(RESOURCES.AgentDeployment, at('thief'))));
    await works(robbed);
    await expect(works(own)).rejects.toThrow();
  });

  it('reports that the server has fewer connections than a deployment asks for', async () => {
    const asking = (dbMaxConnections: number) => ({ sourceConfig: { resourceSpec: { dbMaxConnections } } });
    const message = async (): Promise<string | undefined> => {
      const { status } = await rollouts.plane.client.get(RESOURCES.AgentDeployment, at('many'));
      return findCondition(status?.conditions, 'DatabaseReady')?.message;
    };
    await rollouts.deploy('many', { suspend: true, ...asking(10_000) });
    await waitFor(async () => (await message())?.includes('with 32 connections at most instead of 10000'));
    await rollouts.plane.client.merge(RESOURCES.AgentDeployment, at('many'), { spec: asking(9) });
    await waitFor(async () => (await message()) === 'database exists');
  });
});

describe('Secrets of a deployment', () => {
  it('makes a revision when the Secret of a deployment that was touched has changed', async () => {
    await rollouts.plane.client.create(SECRETS, { metadata: at('variables'), data: { A: 'MQ==' } });
    await rollouts.deploy('secretive', { secretsRef: { name: 'variables' } });
    await rollouts.serve('secretive', 1);
    await rollouts.plane.client.merge(SECRETS, at('variables'), { data: { A: 'Mg==' } });
    await rollouts.touch('secretive');
    await rollouts.serve('secretive', 2);
    expect(await rollouts.revisions('secretive')).toHaveLength(2);
  });

  const destinationWith = (name: string, secret: string) =>
    rollouts.plane.client.create(RESOURCES.BulkExportDestination, {
      metadata: at(name),
      spec: {
        type: 'object_store',
        config: { bucketName: 'bucket', includeBucketInPrefix: true, endpointUrl: 'http://127.0.0.1:1' },
        credentialsSecretRef: { name: secret },
      },
    });

  it('gives an agent the Secret that a person shares with a destination', async () => {
    await rollouts.plane.client.create(SECRETS, { metadata: at('shared'), data: { A: 'MQ==' } });
    await destinationWith('sharing', 'shared');
    await rollouts.deploy('sharing', { secretsRef: { name: 'shared' } });
    await rollouts.serve('sharing', 1);
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
      await rollouts.plane.client.create(SECRETS, { metadata: at(name), type, data: { A: 'MQ==' } });
    if (name === 'elsewhere') {
      const { apiVersion = '', kind = '', metadata } = await destinationWith('nowhere', name);
      const owner = { apiVersion, kind, name: metadata.name, uid: metadata.uid ?? '' };
      const made = { ...at(name), ownerReferences: [owner] };
      await rollouts.plane.client.create(SECRETS, { metadata: made, data: { A: 'MQ==' } });
    }
    // what a person could do to take a mark off
    await rollouts.plane.client.merge(SECRETS, at(name), { metadata: { labels: null } });
    await rollouts.deploy(`takes-${name}`, { secretsRef: { name } });
    await waitFor(async () => {
      const { status } = await rollouts.plane.client.get(RESOURCES.AgentDeployment, at(`takes-${name}`));
      const ready = findCondition(status?.conditions, 'Ready');
      return ready?.status === 'False' && ready.reason === 'SecretRefused';
    });
    expect(await rollouts.revisions(`takes-${name}`)).toEqual([]);
  });

  it('waits a short while for a Secret that is created later', async () => {
    await rollouts.deploy('early', { secretsRef: { name: 'late' } });
    await waitFor(async () => {
      const { status } = await rollouts.plane.client.get(RESOURCES.AgentDeployment, at('early'));
      return findCondition(status?.conditions, 'RevisionReady')?.reason === 'SecretMissing';
    });
    await rollouts.plane.client.create(SECRETS, { metadata: at('late'), data: {} });
    await rollouts.serve('early', 1);
  });
});

describe('names that others have or had', () => {
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
    const made = await rollouts.plane.client.create(
      ref as typeof SERVICES,
      { metadata: at(name), ...body } as never,
    );
    const deployment = name.replace(/-00001$/, '');
    await rollouts.deploy(deployment);
    if (name === deployment) await rollouts.plane.report(`${deployment}-00001`, { ready: true });
    await rollouts.saying(`${deployment}-00001`, 'Ready', 'NotOurs');
    const { metadata, spec } = await rollouts.plane.client.get(ref as typeof SERVICES, at(name));
    expect([metadata.labels, metadata.ownerReferences, spec]).toEqual([undefined, undefined, made.spec]);
  });

  it('makes a deployment of the same name anew, whatever is left of the former one', async () => {
    await rollouts.deploy('anew');
    await rollouts.serve('anew', 1);
    const first = await rollouts.revision('anew-00001');
    const hold = (finalizers: string[]) =>
      rollouts.plane.client.merge(SERVICES, at('anew'), { metadata: { finalizers } });
    const holdKey = (finalizers: string[]) =>
      rollouts.plane.client.merge(SECRETS, at('anew-platform'), { metadata: { finalizers } });
    await hold(['test.dev/hold']);
    await holdKey(['test.dev/hold']);
    await rollouts.plane.client.delete(RESOURCES.AgentDeployment, at('anew'));
    await waitFor(
      async () => (await rollouts.plane.client.find(RESOURCES.AgentDeployment, at('anew'))) === undefined,
    );
    await rollouts.deploy('anew');
    // a key that was taken back makes no revision
    const progress = async () =>
      findCondition(
        (await rollouts.plane.client.get(RESOURCES.AgentDeployment, at('anew'))).status?.conditions,
        'DatabaseReady',
      );
    await waitFor(async () => (await progress())?.reason === 'Deleting');
    expect(await rollouts.revisions('anew')).toEqual([]);
    await holdKey([]);
    // the Service points to a revision of this name, and that is another one
    await rollouts.saying('anew-00001', 'WorkloadsReady', 'Deploying');
    expect(await rollouts.said('anew-00001')).not.toContain('NotOurs');
    await rollouts.plane.report('anew-00001', { ready: true });
    await rollouts.saying('anew-00001', 'Ready', 'NotOurs');
    await hold([]);
    await rollouts.saying('anew-00001', 'Ready', 'Serving');
    expect((await rollouts.revision('anew-00001')).metadata.uid).not.toBe(first.metadata.uid);
    expect(await rollouts.revisions('anew')).toHaveLength(1);
  });

  it('reports by a deployment that its Listener was deleted', async () => {
    await rollouts.plane.client.create(RESOURCES.Listener, {
      metadata: at('gone'),
      spec: { computeType: 'cluster', computeId: 'elsewhere' },
    });
    await rollouts.deploy('untended', { listenerRef: { name: 'gone' } });
    await waitFor(async () => (await rollouts.revisions('untended')).length === 1);
    await rollouts.plane.client.delete(RESOURCES.Listener, at('gone'));
    const ready = await waitFor(async () => {
      const { status } = await rollouts.plane.client.get(RESOURCES.AgentDeployment, at('untended'));
      const found = findCondition(status?.conditions, 'Ready');
      return found?.reason === 'ListenerMissing' && found;
    });
    expect(ready.message).toMatch(/^Listener gone does not exist in this namespace; create it/);
    await waitFor(async () => (await rollouts.said('untended')).includes('ListenerMissing'));
  });
});

describe('a control plane with all of these deployments', () => {
  it('writes nothing when nothing has changed', async () => {
    expect(await rollouts.writtenByRestart()).toEqual([]);
  });

  it('ends without warnings or errors in the logs', () => {
    expect(rollouts.plane.complaints).toEqual([]);
  });
});
