import type { AgentRevision, Deployment, Pod } from '#lib/resources';
import { planRollout } from './plan.js';
import { summarizeRevision } from './revision-status.js';
import {
  ACTIVE,
  condition,
  CRASHED,
  NOW,
  revision,
  SECONDS,
  UP,
  WANTED,
  world,
} from './testdata/sample-rollout.js';
import { DEFAULT_PATIENCE, type RolloutWorld } from './world.js';

describe('summarizeRevision', () => {
  function summary(observed: RolloutWorld, at: number): Record<string, string> {
    const planned = planRollout(observed, NOW, DEFAULT_PATIENCE).revisions[at];
    if (!planned) throw new Error('no such revision');
    return Object.fromEntries(
      (summarizeRevision(planned, undefined, NOW).conditions ?? []).map((one) => [
        one.type,
        `${one.status} ${one.reason}`,
      ]),
    );
  }

  it('calls a serving revision ready and active', () =>
    expect(summary(world(undefined, revision({ number: 1, ready: true })), 0)).toEqual({
      WorkloadsReady: 'True Available',
      Active: 'True Serving',
      Ready: 'True Serving',
    }));

  it.each([
    ['waits for its image', [], 'Unknown Pending'],
    ['will never have an image', [condition('Built', 'False', 'RevisionMissing')], 'False RevisionMissing'],
  ])('reports a revision that %s', (_what, conditions, ready) => {
    const unbuilt = {
      ...revision({ number: 1, workload: 'none' }),
      revision: {
        metadata: { name: 'a-00001', generation: 1 },
        spec: { number: 1 },
        status: { conditions },
      } as unknown as AgentRevision,
    };
    expect(summary(world(undefined, unbuilt), 0)).toEqual({ Ready: ready });
  });

  it('calls a deploying revision unknown, from which its deadline counts', () =>
    expect(summary(world(undefined, revision({ number: 1 })), 0)).toEqual({
      WorkloadsReady: 'Unknown Deploying',
      Ready: 'False Deploying',
    }));

  it('reports another owner of the name and keeps what the revision was', () => {
    const failure = { reason: 'NotOurs', message: 'Service a exists' };
    const [blocked] = world(1, revision({ number: 1, conditions: [ACTIVE] })).revisions;
    if (!blocked) throw new Error('no revision');
    const { conditions } = summarizeRevision(
      { world: blocked, fate: { kind: 'blocked', failure } },
      undefined,
      NOW,
    );
    expect(conditions?.map(({ type, status, reason }) => `${type}=${status} ${reason}`)).toEqual([
      'Active=True Active',
      'WorkloadsReady=False NotOurs',
      'Ready=False NotOurs',
    ]);
  });

  it('calls a suspended revision serving while the Service points to it', () => {
    const observed = world(1, revision({ number: 1, conditions: [ACTIVE] }), revision({ number: 2 }));
    const before = observed.revisions.map((one, at) => ({
      ...one,
      revision: { ...one.revision, status: { ...one.revision.status, serving: at === 0 } },
    }));
    const suspended = { ...observed, revisions: before, deployment: { spec: { suspend: true } } };
    const { revisions } = planRollout(suspended as unknown as RolloutWorld, NOW, DEFAULT_PATIENCE);
    expect(revisions.map((one) => summarizeRevision(one, undefined, NOW).serving)).toEqual([true, false]);
  });

  it('names the generation that it was computed from', () => {
    const [planned] = planRollout(world(undefined, revision({ number: 1 })), NOW, DEFAULT_PATIENCE).revisions;
    expect(planned && summarizeRevision(planned, undefined, NOW).observedGeneration).toBe(1);
  });

  it('remembers that a former revision was active', () =>
    expect(
      summary(
        world(
          1,
          revision({ number: 1, ready: true, conditions: [ACTIVE] }),
          revision({ number: 2, ready: true }),
        ),
        0,
      ),
    ).toEqual({ WorkloadsReady: 'True Available', Active: 'False Replaced', Ready: 'False Replaced' }));

  it('repeats the words of the agent for a failure', () => {
    const planned = planRollout(
      world(undefined, revision({ number: 1, container: { lastState: { terminated: CRASHED } } })),
      NOW,
      DEFAULT_PATIENCE,
    ).revisions[0];
    const failed =
      planned && summarizeRevision(planned, undefined, NOW).conditions?.find((one) => one.type === 'Failed');
    expect(failed).toMatchObject({
      reason: 'GraphLoadFailed',
      message: 'no such file',
    });
  });

  it('reports what a held revision waits for, and that it serves when it does', () => {
    const message = 'waiting for the database a at 127.0.0.1:5432: no answer';
    const container = { restartCount: 7, lastState: { terminated: WANTED } };
    const [held] = planRollout(
      world(undefined, revision({ number: 1, conditions: [UP(900)], container })),
      NOW,
      DEFAULT_PATIENCE,
    ).revisions;
    const [serving] = planRollout(
      world(1, revision({ number: 1, conditions: [ACTIVE], container })),
      NOW,
      DEFAULT_PATIENCE,
    ).revisions;
    for (const planned of [held, serving]) {
      const status = planned && summarizeRevision(planned, undefined, NOW);
      const reported = { status: 'False', reason: 'DependencyUnavailable', message };
      expect(status?.conditions).toEqual(
        expect.arrayContaining([
          expect.objectContaining({ type: 'Ready', ...reported }),
          expect.objectContaining({ type: 'WorkloadsReady', ...reported }),
        ]),
      );
      expect(status?.conditions?.some(({ type }) => type === 'Failed')).toBe(false);
    }
  });

  it('reports what the start of a deploying revision is at, and with what it ran out of time', () => {
    const progress = 'graph "agent" has been loading for 21 s; it is in src/slow.ts';
    const answer = { waitingFor: undefined, progress };
    const planned = (seconds: number) =>
      planRollout(
        world(undefined, revision({ number: 1, conditions: [UP(seconds)], answer })),
        NOW,
        DEFAULT_PATIENCE,
      ).revisions.map((one) => summarizeRevision(one, undefined, NOW).conditions);
    expect(planned(20)[0]).toContainEqual(
      expect.objectContaining({ type: 'WorkloadsReady', message: `0 of 1 pods are ready; ${progress}` }),
    );
    const message = `no pod became ready within 300 s; ${progress}`;
    expect(planned(301)[0]).toContainEqual(expect.objectContaining({ type: 'Failed', message }));
  });

  it.each<[string, Pod['status'], string]>([
    [
      'rejected',
      { phase: 'Failed', reason: 'OutOfcpu', message: "Node didn't have enough resource: cpu" },
      "pod new was rejected: OutOfcpu: Node didn't have enough resource: cpu",
    ],
    [
      'did not schedule',
      {
        phase: 'Pending',
        conditions: [{ type: 'PodScheduled', status: 'False', message: '0/1 nodes are available' }],
      },
      'pod new is not scheduled: 0/1 nodes are available',
    ],
  ])('reports why a cluster %s the newest pod, with what the revision ran out of time', (_, status, why) => {
    const pods = [
      { metadata: { name: 'old', creationTimestamp: SECONDS(9) }, spec: { containers: [] } },
      { metadata: { name: 'new', creationTimestamp: SECONDS(8) }, spec: { containers: [] }, status },
    ] as unknown as Pod[];
    const shown = (seconds: number) =>
      planRollout(
        world(undefined, { ...revision({ number: 1, conditions: [UP(seconds)] }), pods }),
        NOW,
        DEFAULT_PATIENCE,
      ).revisions.flatMap((one) => summarizeRevision(one, undefined, NOW).conditions);
    const message = `0 of 1 pods are ready; ${why}`;
    expect(shown(20)).toContainEqual(expect.objectContaining({ type: 'WorkloadsReady', message }));
    expect(shown(301)).toContainEqual(
      expect.objectContaining({ type: 'Failed', message: `no pod became ready within 300 s; ${why}` }),
    );
  });

  it.each<[string, Parameters<typeof revision>[0]['container'], string]>([
    [
      'a container that cannot be configured',
      { state: { waiting: { reason: 'CreateContainerConfigError', message: 'secret "x" not found' } } },
      'container agent waits: CreateContainerConfigError: secret "x" not found',
    ],
    [
      'an image that is not there yet',
      { state: { waiting: { reason: 'ErrImagePull', message: 'no image x' } } },
      'container agent waits: ErrImagePull: no image x',
    ],
    [
      'a container that exited',
      {
        restartCount: 1,
        state: { waiting: { reason: 'CrashLoopBackOff' } },
        lastState: { terminated: { exitCode: 2, message: 'no model' } },
      },
      'container agent exited with code 2: no model',
    ],
    [
      'a container that took more memory than it may',
      { restartCount: 1, lastState: { terminated: { exitCode: 137, reason: 'OOMKilled' } } },
      'container agent exited with code 137 (OOMKilled)',
    ],
  ])('reports %s while a revision deploys', (_title, container, expected) => {
    const [planned] = planRollout(
      world(undefined, revision({ number: 1, ...(container ? { container } : {}) })),
      NOW,
      DEFAULT_PATIENCE,
    ).revisions;
    const status = planned && summarizeRevision(planned, undefined, NOW);
    expect(status?.conditions?.find(({ type }) => type === 'Ready')?.message).toBe(
      `0 of 1 pods are ready; ${expected}`,
    );
  });

  it('reports why pods cannot be created', () => {
    const one = revision({ number: 1 });
    const message = 'pods "a-" is forbidden: error looking up service account ws/missing';
    const conditions = [{ type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate', message }];
    const workload = { ...one.workload, status: { conditions } } as unknown as Deployment;
    const [planned] = planRollout(world(undefined, { ...one, workload }), NOW, DEFAULT_PATIENCE).revisions;
    const status = planned && summarizeRevision(planned, undefined, NOW);
    expect(status?.conditions?.find(({ type }) => type === 'Ready')?.message).toBe(
      `0 of 1 pods are ready; pods cannot be created: ${message}`,
    );
  });
});
