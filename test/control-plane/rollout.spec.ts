import { itLong, waitFor } from '#lib/testing';
import { describe, expect, it } from '@jest/globals';
import { DEPLOYMENTS, findCondition, idOf, isConditionTrue, RESOURCES } from '#lib/resources';
import { NAMESPACE } from './control-plane.js';
import { at, GRAPH_FAILS, testRollouts } from './rollout-plane.js';

describe('a rollout', () => {
  const rollouts = testRollouts();

  /** What a deployment says of the revision that serves, at any time. */
  function watchActive(name: string) {
    const abort = new AbortController();
    const seen: (string | undefined)[] = [];
    const follow = async (): Promise<void> => {
      const events = rollouts.plane.client.watch(RESOURCES.AgentDeployment, {
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

  it('reports that the listener is ready', async () => {
    const [pod] = await waitFor(async () => {
      const pods = await rollouts.plane.pods(
        'agentplane.dev/listener=default,app.kubernetes.io/component=listener',
      );
      return pods.length > 0 && pods;
    });
    if (pod) await rollouts.plane.reportPod(pod, { ready: true });
    await waitFor(async () =>
      isConditionTrue(
        (await rollouts.plane.client.get(RESOURCES.Listener, at('default'))).status?.conditions,
        'Ready',
      ),
    );
  });

  it('brings a revision up, and switches to the next when it is ready', async () => {
    await rollouts.deploy('agent');
    await rollouts.serve('agent', 1);
    await waitFor(async () => {
      const { status } = await rollouts.plane.client.get(RESOURCES.AgentDeployment, at('agent'));
      return isConditionTrue(status?.conditions, 'Ready') && status?.activeRevisionName === 'agent-00001';
    });
    await rollouts.change('agent', 2);
    await rollouts.saying('agent-00002', 'Ready', 'Deploying');
    expect(await rollouts.served('agent')).toBe('agent-00001');
    const watching = watchActive('agent');
    await rollouts.serve('agent', 2);
    await waitFor(async () => (await rollouts.plane.podsOf('agent-00001')).length === 0);
    expect(findCondition((await rollouts.revision('agent-00001')).status?.conditions, 'Active')?.status).toBe(
      'False',
    );
    expect(new Set(await watching.until('agent-00002'))).toEqual(new Set(['agent-00001', 'agent-00002']));
  });

  it('restarts the revision that serves, and keeps a change that is on its way', async () => {
    const { client } = rollouts.plane;
    await rollouts.deploy('patient');
    await rollouts.serve('patient', 1);
    await rollouts.change('patient', 2);
    await rollouts.saying('patient-00002', 'Ready', 'Deploying');
    const stamp = 'patient-00001@2026-01-01T00:00:00Z';
    const restart = { metadata: { annotations: { 'agentplane.dev/restart': stamp } } };
    await client.merge(RESOURCES.AgentDeployment, at('patient'), restart);
    const stampOf = async (name: string) =>
      (await client.get(DEPLOYMENTS, at(name))).spec.template.metadata?.annotations?.[
        'agentplane.dev/restart'
      ];
    await waitFor(async () => (await stampOf('patient-00001')) === stamp);
    expect(await stampOf('patient-00002')).toBeUndefined();
    const { spec } = await client.get(RESOURCES.AgentDeployment, at('patient'));
    expect(spec.sourceRevisionConfig.imageUri).toBe('example.org/agent:2');
    await rollouts.serve('patient', 2);
    expect((await rollouts.revisions('patient')).map(({ spec: { number } }) => number).toSorted()).toEqual([
      1, 2,
    ]);
    const next = { metadata: { annotations: { 'agentplane.dev/restart': 'patient-00002@later' } } };
    await client.merge(RESOURCES.AgentDeployment, at('patient'), next);
    await waitFor(async () => (await stampOf('patient-00002')) === 'patient-00002@later');
    // pods of the former revision are none that a person means
    expect(await stampOf('patient-00001')).toBe(stamp);
  });

  it('keeps the old revision when the new one fails, for good', async () => {
    await rollouts.change('agent', 3);
    await rollouts.plane.report('agent-00003', GRAPH_FAILS);
    const failed = await rollouts.saying('agent-00003', 'Failed', 'GraphLoadFailed');
    expect(failed.message).toContain('no such file');
    await waitFor(
      async () => (await rollouts.plane.client.find(DEPLOYMENTS, at('agent-00003'))) === undefined,
    );
    expect(await rollouts.served('agent')).toBe('agent-00002');
  });

  it('moves what is past the history limit to the archive, and drops it with its deployment', async () => {
    await rollouts.deploy('short', { revisionHistoryLimit: 1 });
    await rollouts.serve('short', 1);
    const id = idOf(await rollouts.revision('short-00001')) ?? '';
    for (const number of [2, 3]) {
      await rollouts.change('short', number);
      await rollouts.serve('short', number);
    }
    const { client, traces } = rollouts.plane;
    await waitFor(async () => !(await client.find(RESOURCES.AgentRevision, at('short-00001'))));
    const deployment = await client.get(RESOURCES.AgentDeployment, at('short'));
    const { tenantId } = (await rollouts.revision('short-00003')).spec;
    const owner = { tenantId, deploymentId: idOf(deployment) ?? '' };
    const search = { except: [], offset: 0, limit: 10 };
    const archived = await traces.revisionArchive.list(owner, search);
    expect(archived).toMatchObject([{ id, number: 1, status: 'DEPLOYED' }]);
    await waitFor(async () => {
      const { status, metadata } = await client.get(RESOURCES.AgentDeployment, at('short'));
      return (
        status?.observedGeneration === metadata.generation && isConditionTrue(status?.conditions, 'Ready')
      );
    });
    await client.delete(RESOURCES.AgentDeployment, at('short'));
    await waitFor(async () => !(await client.find(RESOURCES.AgentDeployment, at('short'))));
    expect(await traces.revisionArchive.list(owner, search)).toEqual([]);
  });

  it('goes back to the former revision when the one that took over fails, and reports it everywhere', async () => {
    await rollouts.restartListener({ standbyWarmMs: 60_000 });
    await rollouts.deploy('fallible', { minReadySeconds: 1 });
    await rollouts.serve('fallible', 1);
    await rollouts.change('fallible', 2);
    await rollouts.plane.report('fallible-00002', { ready: true });
    const readyAt = Date.now();
    await waitFor(async () => (await rollouts.served('fallible')) === 'fallible-00002');
    expect(Date.now() - readyAt).toBeGreaterThan(900);
    const ended = { exitCode: 3, message: 'Error: no model' };
    await rollouts.plane.report('fallible-00002', {
      ready: false,
      restartCount: 0,
      state: { terminated: ended },
    });
    const crashed = await rollouts.saying('fallible-00002', 'Ready', 'Crashed');
    expect(crashed.message).toBe('container agent exited with code 3: Error: no model');
    expect(await rollouts.served('fallible')).toBe('fallible-00002');
    await rollouts.plane.report('fallible-00002', {
      ready: false,
      restartCount: 1,
      state: { terminated: ended },
    });
    await waitFor(async () => (await rollouts.served('fallible')) === 'fallible-00001');
    const failed = await rollouts.saying('fallible-00002', 'Failed', 'CrashLoop');
    expect(failed.message).toBe('container agent exited 2 times, last with code 3: Error: no model');
    await rollouts.saying('fallible-00002', 'Active', 'RolledBack');
    await rollouts.saying('fallible-00001', 'Ready', 'Serving');
    const deployment = await waitFor(async () => {
      const found = await rollouts.plane.client.get(RESOURCES.AgentDeployment, at('fallible'));
      return found.status?.activeRevisionName === 'fallible-00001' && found;
    });
    expect(findCondition(deployment.status?.conditions, 'RolledBack')).toMatchObject({
      status: 'True',
      reason: 'CrashLoop',
      message: `fallible-00002: it failed while it served; the Service points to fallible-00001 again; it failed: ${failed.message}`,
    });
    await waitFor(async () => (await rollouts.said('fallible')).includes('RolledBack'));
    await waitFor(async () => {
      const reasons = await rollouts.said('fallible-00002');
      return ['Crashed', 'CrashLoop'].every((reason) => reasons.includes(reason));
    });
    // the next revision is tried as any other
    await rollouts.change('fallible', 3);
    await rollouts.serve('fallible', 3);
    await waitFor(async () => {
      const { status } = await rollouts.plane.client.get(RESOURCES.AgentDeployment, at('fallible'));
      return findCondition(status?.conditions, 'RolledBack') === undefined;
    });
    await rollouts.restartListener();
  });

  it('starts the former revision that has no pods, and goes back to it', async () => {
    await rollouts.restartListener({ standbyWarmMs: 0 });
    await rollouts.deploy('cold', { minReadySeconds: 0 });
    await rollouts.serve('cold', 1);
    await rollouts.change('cold', 2);
    await rollouts.serve('cold', 2);
    await waitFor(async () => (await rollouts.plane.podsOf('cold-00001')).length === 0);
    await rollouts.restartListener({ standbyWarmMs: 60_000 });
    const terminated = { exitCode: 3, message: 'Error: no model' };
    await rollouts.plane.report('cold-00002', { ready: false, restartCount: 1, state: { terminated } });
    await waitFor(async () => (await rollouts.plane.podsOf('cold-00001')).length === 1);
    expect(await rollouts.served('cold')).toBe('cold-00002');
    await rollouts.plane.report('cold-00001', { ready: true });
    await waitFor(async () => (await rollouts.served('cold')) === 'cold-00001');
    await rollouts.saying('cold-00002', 'Active', 'RolledBack');
    await rollouts.restartListener();
  });

  it('suspends and resumes without judging any revision anew', async () => {
    await rollouts.change('agent', 4);
    const deploying = await rollouts.saying('agent-00004', 'WorkloadsReady', 'Deploying');
    await rollouts.suspend('agent', true);
    await waitFor(async () => (await rollouts.plane.podsOf('agent-00002')).length === 0);
    await rollouts.saying('agent-00004', 'Ready', 'Suspended');
    expect(findCondition((await rollouts.revision('agent-00003')).status?.conditions, 'Failed')?.status).toBe(
      'True',
    );
    expect((await rollouts.revision('agent-00002')).status?.serving).toBe(true);
    await waitFor(() => Date.now() > Date.parse(deploying.lastTransitionTime) + 2000);
    await rollouts.suspend('agent', false);
    // what it may take to become ready counts from here
    const again = await rollouts.saying('agent-00004', 'WorkloadsReady', 'Deploying');
    expect(Date.parse(again.lastTransitionTime)).toBeGreaterThan(Date.parse(deploying.lastTransitionTime));
    await rollouts.serve('agent', 4);
    expect(isConditionTrue((await rollouts.revision('agent-00003')).status?.conditions, 'Failed')).toBe(true);
  });

  it('gives up on a revision that is not ready in time', async () => {
    await rollouts.restartListener({ readinessMs: 1000 });
    await rollouts.change('agent', 5);
    await rollouts.saying('agent-00005', 'Failed', 'ReadinessTimeout');
    expect(await rollouts.served('agent')).toBe('agent-00004');
    await rollouts.restartListener();
  });

  it('fails a revision that the API server refuses', async () => {
    const valueFrom = { fieldRef: { fieldPath: 'metadata.unheard' } };
    await rollouts.deploy('invalid', {
      sourceConfig: {
        resourceSpec: { sidecars: [{ name: 'beside', image: 'x', env: [{ name: 'A', valueFrom }] }] },
      },
    });
    await rollouts.saying('invalid-00001', 'Failed', 'InvalidWorkload');
  });

  itLong('makes nothing twice when its programs are killed at any time', async () => {
    await rollouts.deploy('killed');
    const steps: (() => Promise<boolean>)[] = [
      async () => true,
      async () => (await rollouts.revisions('killed')).length > 0,
      async () => (await rollouts.deploymentsOf('killed')).length > 0,
      async () => (await rollouts.plane.podsOf('killed-00001')).length > 0,
      async () => true,
    ];
    for (const isReached of steps) {
      await waitFor(isReached);
      await rollouts.plane.program('controller').end('SIGKILL');
      await rollouts.plane.program('listener').end('SIGKILL');
      await rollouts.plane.startController();
      await rollouts.plane.startListener();
    }
    await rollouts.serve('killed', 1);
    expect(await rollouts.revisions('killed')).toHaveLength(1);
    expect(await rollouts.plane.podsOf('killed-00001')).toHaveLength(1);
  });

  it('writes nothing when nothing has changed', async () => {
    expect(await rollouts.writtenByRestart()).toEqual([]);
  });

  it('ends without warnings or errors in the logs', () => {
    expect(rollouts.plane.complaints).toEqual([]);
  });
});
