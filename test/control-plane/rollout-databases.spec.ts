import { waitFor } from '#lib/testing';
import { describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { ANNOTATION, findCondition, idOf, RESOURCES, SECRETS } from '#lib/resources';
import { at, testRollouts } from './rollout-plane.js';

describe('what a deployment has in databases', () => {
  const rollouts = testRollouts();

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

  it('ends without warnings or errors in the logs', () => {
    expect(rollouts.plane.complaints).toEqual([]);
  });
});
