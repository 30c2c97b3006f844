import {
  type AgentDeployment,
  type AgentRevision,
  type Condition,
  type Deployment,
  type Pod,
} from '#lib/resources';
import type { Hub } from '../hub/hub.js';
import type { Place } from '../place/place.js';
import { observeRollout } from './observe.js';
import { planRollout } from './plan.js';
import { summarizeRevision } from './revision-status.js';
import {
  ACTIVE,
  condition,
  CRASHED,
  fates,
  NOW,
  revision,
  SECONDS,
  WANTED,
  world,
} from './testdata/sample-rollout.js';
import { DEFAULT_PATIENCE, type RolloutWorld } from './world.js';

/** On its way up for so many seconds. */
const UP = (age: number): Condition => ({
  ...condition('WorkloadsReady', 'False', 'Deploying', age),
  status: 'Unknown',
});
const SCALED_DOWN = condition('WorkloadsReady', 'False', 'ScaledDown', 900);

describe('planRollout', () => {
  it.each<[string, RolloutWorld, string | undefined, string[]]>([
    ['starts the first revision', world(undefined, revision({ number: 1 })), undefined, ['deploying']],
    [
      'serves the first one that is ready',
      world(undefined, revision({ number: 1, ready: true })),
      'a-00001',
      ['serving'],
    ],
    [
      'lets the old revision serve until the new one is ready',
      world(1, revision({ number: 1, ready: true, conditions: [ACTIVE] }), revision({ number: 2 })),
      'a-00001',
      ['serving', 'deploying'],
    ],
    [
      'switches when the new one is ready and lets the old one finish',
      world(
        1,
        revision({ number: 1, ready: true, conditions: [ACTIVE] }),
        revision({ number: 2, ready: true }),
      ),
      'a-00002',
      ['retiring', 'serving'],
    ],
    [
      'keeps the former one warm for a rollback',
      world(
        2,
        revision({ number: 1, ready: true, conditions: [condition('Active', 'False', 'Replaced', 59)] }),
        revision({ number: 2, ready: true, conditions: [ACTIVE] }),
      ),
      'a-00002',
      ['warm', 'serving'],
    ],
    [
      'keeps only the last former one warm',
      world(
        3,
        revision({ number: 1, ready: true, conditions: [condition('Active', 'False', 'Replaced', 20)] }),
        revision({ number: 2, ready: true, conditions: [condition('Active', 'False', 'Replaced', 10)] }),
        revision({ number: 3, ready: true, conditions: [ACTIVE] }),
      ),
      'a-00003',
      ['standby', 'warm', 'serving'],
    ],
    [
      'scales the old one down once its time is over',
      world(
        2,
        revision({ number: 1, ready: true, conditions: [condition('Active', 'False', 'Replaced', 61)] }),
        revision({ number: 2, ready: true, conditions: [ACTIVE] }),
      ),
      'a-00002',
      ['standby', 'serving'],
    ],
    [
      'skips a revision that was overtaken before it was ready',
      world(
        1,
        revision({ number: 1, ready: true, conditions: [ACTIVE] }),
        revision({ number: 2 }),
        revision({ number: 3 }),
      ),
      'a-00001',
      ['serving', 'superseded', 'deploying'],
    ],
    [
      'fails a revision whose graph does not load, and the old one goes on',
      world(
        1,
        revision({ number: 1, ready: true, conditions: [ACTIVE] }),
        revision({ number: 2, container: { state: { terminated: CRASHED } } }),
      ),
      'a-00001',
      ['serving', 'failed'],
    ],
    [
      'keeps a failure final',
      world(
        1,
        revision({ number: 1, ready: true, conditions: [ACTIVE] }),
        revision({ number: 2, ready: true, conditions: [condition('Failed', 'True')] }),
      ),
      'a-00001',
      ['serving', 'failed'],
    ],
    [
      'waits for the image to be built',
      world(undefined, {
        ...revision({ number: 1, workload: 'none' }),
        revision: { metadata: { name: 'a-00001' }, spec: { number: 1 } } as unknown as AgentRevision,
      }),
      undefined,
      ['waiting'],
    ],
    [
      'has patience with a registry for a while',
      world(
        undefined,
        revision({ number: 1, age: 5, container: { state: { waiting: { reason: 'ErrImagePull' } } } }),
      ),
      undefined,
      ['deploying'],
    ],
    [
      'gives up on an image that cannot be pulled',
      world(
        undefined,
        revision({ number: 1, age: 25, container: { state: { waiting: { reason: 'ErrImagePull' } } } }),
      ),
      undefined,
      ['failed'],
    ],
    [
      'gives up on a crash loop',
      world(
        undefined,
        revision({ number: 1, container: { restartCount: 3, lastState: { terminated: { exitCode: 1 } } } }),
      ),
      undefined,
      ['failed'],
    ],
    [
      'gives up at once on a pod that the node cannot honour',
      world(undefined, revision({ number: 1, age: 1, container: {}, refusal: 'hostPath' })),
      undefined,
      ['failed'],
    ],
    [
      'holds a revision whose container exited for want of a dependency, however often',
      world(
        undefined,
        revision({
          number: 1,
          conditions: [UP(900)],
          container: { restartCount: 7, lastState: { terminated: WANTED } },
        }),
      ),
      undefined,
      ['held'],
    ],
    [
      'holds a revision whose pod answers that its database is unavailable',
      world(
        undefined,
        revision({
          number: 1,
          conditions: [UP(900)],
          container: { state: { running: { startedAt: SECONDS(900) } } },
          answer: { waitingFor: 'waiting for the database' },
        }),
      ),
      undefined,
      ['held'],
    ],
    [
      'lets go of a revision whose pod no longer waits',
      world(
        undefined,
        revision({
          number: 1,
          conditions: [{ ...UP(900), status: 'False', reason: 'DependencyUnavailable' }],
          container: {
            restartCount: 7,
            lastState: { terminated: WANTED },
            state: { running: { startedAt: SECONDS(1) } },
          },
          answer: { waitingFor: undefined },
        }),
      ),
      undefined,
      ['deploying'],
    ],
    [
      'counts no exit that the restart of the node caused as a crash',
      world(
        undefined,
        revision({
          number: 1,
          container: {
            restartCount: 3,
            lastState: { terminated: { exitCode: 137, reason: 'ContainerStatusUnknown' } },
          },
        }),
      ),
      undefined,
      ['deploying'],
    ],
    [
      'fails a revision whose graph does not load though its database is unavailable too',
      world(
        undefined,
        revision({
          number: 1,
          container: { state: { terminated: CRASHED } },
          answer: { waitingFor: 'waiting for the database' },
        }),
      ),
      undefined,
      ['failed'],
    ],
    [
      'gives up on a revision that is never ready',
      world(undefined, revision({ number: 1, conditions: [UP(301)] })),
      undefined,
      ['failed'],
    ],
    [
      'has patience with a deploying revision',
      world(undefined, revision({ number: 1, conditions: [UP(299)] })),
      undefined,
      ['deploying'],
    ],
    [
      'counts from the start of a deployment, however old the workload is',
      world(undefined, revision({ number: 1, age: 900, conditions: [SCALED_DOWN] })),
      undefined,
      ['deploying'],
    ],
    [
      'never fails the one that serves',
      world(
        1,
        revision({
          number: 1,
          age: 900,
          conditions: [ACTIVE],
          container: { restartCount: 9, lastState: { terminated: CRASHED } },
        }),
      ),
      'a-00001',
      ['serving'],
    ],
  ])('%s', (_name, observed, serving, expected) => {
    expect(fates(observed)).toEqual({ serving, fates: expected });
  });

  it('stops everything while suspended and keeps the route', () => {
    const observed = world(1, revision({ number: 1, ready: true, conditions: [ACTIVE] }));
    const suspended = {
      ...observed,
      deployment: { ...observed.deployment, spec: { suspend: true } } as unknown as AgentDeployment,
    };
    expect(fates(suspended)).toEqual({ serving: 'a-00001', fates: ['suspended'] });
  });

  it('does not forget a failure while suspended', () => {
    const observed = world(
      1,
      revision({ number: 1, ready: true, conditions: [condition('Active', 'True')] }),
      revision({ number: 2, workload: 'none', conditions: [condition('Failed', 'True', 'CrashLoop')] }),
    );
    const suspended = {
      ...observed,
      deployment: { ...observed.deployment, spec: { suspend: true } } as unknown as AgentDeployment,
    };
    expect(fates(suspended)).toEqual({ serving: 'a-00001', fates: ['suspended', 'failed'] });
  });

  it('scales a retiring revision down and keeps a superseded one so while suspended', () => {
    const observed = world(
      2,
      revision({ number: 1, ready: true, conditions: [condition('Active', 'False', 'Replaced', 2)] }),
      revision({ number: 2, ready: true, conditions: [ACTIVE] }),
      revision({ number: 3, workload: 'none', conditions: [condition('Superseded', 'True')] }),
      revision({ number: 4 }),
    );
    const suspended = {
      ...observed,
      deployment: { ...observed.deployment, spec: { suspend: true } } as unknown as AgentDeployment,
    };
    expect(fates(suspended)).toEqual({
      serving: 'a-00002',
      fates: ['standby', 'suspended', 'superseded', 'suspended'],
    });
  });

  it('fails no revision for the time in which the machine slept', () => {
    const waiting = { reason: 'ErrImagePull' };
    const awake = { ...DEFAULT_PATIENCE, awakeSinceMs: NOW.getTime() - 5000 };
    for (const late of [
      revision({ number: 1, conditions: [UP(3600)] }),
      revision({ number: 1, age: 3600, conditions: [UP(3600)], container: { state: { waiting } } }),
    ]) {
      expect(fates(world(undefined, late)).fates).toEqual(['failed']);
      const plan = planRollout(world(undefined, late), NOW, awake);
      expect(plan.revisions.map(({ fate }) => fate.kind)).toEqual(['deploying']);
    }
  });

  it('fails a revision in time though the clock was set back while it was deploying', () => {
    const late = revision({ number: 1, conditions: [UP(-3600)] });
    const plan = planRollout(world(undefined, late), NOW, {
      ...DEFAULT_PATIENCE,
      awakeSinceMs: NOW.getTime() - 301_000,
    });
    expect(plan.revisions.map(({ fate }) => fate.kind)).toEqual(['failed']);
    expect(fates(world(undefined, late)).fates).toEqual(['deploying']);
  });

  it('lets no deadline pass right after the start of the program', () => {
    const late = revision({ number: 1, conditions: [UP(3600)] });
    const begun = { ...DEFAULT_PATIENCE, graceUntilMs: NOW.getTime() + 1 };
    const plan = planRollout(world(undefined, late), NOW, begun);
    expect(plan.revisions.map(({ fate }) => fate.kind)).toEqual(['deploying']);
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

  it('goes on serving after its Service was deleted', () => {
    const serving = revision({ number: 1, conditions: [ACTIVE] });
    expect(fates(world(undefined, serving, revision({ number: 2 })))).toEqual({
      serving: 'a-00001',
      fates: ['serving', 'deploying'],
    });
  });

  it('leaves the Service to the newer revision of another listener', () => {
    const former = revision({ number: 1, ready: true, conditions: [ACTIVE] });
    const { revision: newer } = revision({ number: 2 });
    expect(fates({ ...world(2, former), elsewhere: [newer] })).toEqual({
      serving: 'a-00002',
      fates: ['retiring'],
    });
    // and until it is ready goes on serving
    expect(fates({ ...world(1, former), elsewhere: [newer] })).toEqual({
      serving: 'a-00001',
      fates: ['serving'],
    });
  });

  it('looks again often while a revision deploys, whatever the patience', () => {
    const patience = { ...DEFAULT_PATIENCE, imagePullMs: 600_000, readinessMs: 3_600_000 };
    const observed = world(undefined, revision({ number: 1, conditions: [UP(1)] }));
    expect(planRollout(observed, NOW, patience).lookAgainMs).toBe(20_000);
  });

  it('looks again when a former revision may be scaled down', () => {
    const observed = world(
      2,
      revision({ number: 1, ready: true, conditions: [condition('Active', 'False', 'Replaced', 2)] }),
      revision({ number: 2, ready: true, conditions: [ACTIVE] }),
    );
    expect(planRollout(observed, NOW, DEFAULT_PATIENCE).lookAgainMs).toBe(3000);
    const warm = world(
      2,
      revision({ number: 1, ready: true, conditions: [condition('Active', 'False', 'Replaced', 50)] }),
      revision({ number: 2, ready: true, conditions: [ACTIVE] }),
    );
    expect(planRollout(warm, NOW, DEFAULT_PATIENCE).lookAgainMs).toBe(10_000);
  });

  it('switches at once to a repeat that runs on a warm Deployment', () => {
    const former = revision({
      number: 1,
      ready: true,
      conditions: [condition('Active', 'False', 'Replaced', 20)],
    });
    const { revision: repeat } = revision({ number: 3 });
    const observed = world(
      2,
      { ...former, workload: undefined, lentTo: 'a-00003' },
      revision({ number: 2, ready: true, conditions: [ACTIVE] }),
      { ...former, revision: repeat },
    );
    expect(fates(observed)).toEqual({ serving: 'a-00003', fates: ['standby', 'retiring', 'serving'] });
  });
});

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
        ...{ metadata: { name: 'a-00001', generation: 1 }, spec: { number: 1 } },
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
});

describe('observeRollout', () => {
  const CREATED = { creationTimestamp: SECONDS(10) };
  const owned = (uid: string) => ({ ownerReferences: [{ apiVersion: 'v1', kind: 'K', name: 'a', uid }] });
  const pod = (name: string, metadata: object): Pod => ({
    metadata: { name, ...CREATED, ...metadata },
    spec: { containers: [] },
  });

  type Readers = Parameters<typeof observeRollout>;
  function readers(changes: { pods?: readonly Pod[]; owner?: string; listeners?: string[] } = {}): {
    hub: Readers[0];
    place: Readers[1];
  } {
    const { pods = [], owner = 'present', listeners = ['default'] } = changes;
    const revisions = listeners.map((listenerName, at) => ({
      metadata: { name: `a-0000${at + 1}`, uid: `${at + 1}`, ...CREATED, ...owned(owner) },
      spec: { number: at + 1, listenerName },
    }));
    const hub: Pick<Hub, 'findDeployment' | 'revisionsNamed'> = {
      findDeployment: () => ({ metadata: { name: 'a', uid: 'present' }, spec: {} }) as AgentDeployment,
      revisionsNamed: () => revisions as unknown as AgentRevision[],
    };
    const place: Pick<Place, 'findWorkload' | 'findQueue' | 'podsOf' | 'findService'> = {
      findWorkload: ({ metadata: { name } }) => ({ metadata: { name } }) as unknown as Deployment,
      findQueue: () => undefined,
      podsOf: () => pods,
      findService: () => ({ metadata: { name: 'a' }, spec: {} }),
    };
    return { hub, place };
  }
  const observe = ({ hub, place }: ReturnType<typeof readers>) =>
    observeRollout(hub, place, { namespace: 'ws', name: 'a' }, 'default');

  it('sees what belongs to the deployment and its revisions', () => {
    const seen = observe(readers({ pods: [pod('p', {})] }));
    expect([seen?.service?.metadata.name, seen?.revisions[0]?.workload?.metadata.name]).toEqual([
      'a',
      'a-00001',
    ]);
    expect(seen?.revisions[0]?.pods).toHaveLength(1);
  });

  it('leaves revisions of a former deployment of the name alone', () => {
    expect(observe(readers({ owner: 'former' }))?.revisions).toEqual([]);
  });

  it('counts no pods that are being deleted or older than the revision', () => {
    const deleted = pod('deleted', { deletionTimestamp: SECONDS(1) });
    const older = pod('older', { creationTimestamp: SECONDS(11) });
    expect(observe(readers({ pods: [deleted, older] }))?.revisions[0]?.pods).toEqual([]);
  });

  it('keeps revisions of other listeners apart', () => {
    const seen = observe(readers({ listeners: ['default', 'other'] }));
    expect(seen?.revisions.map((one) => one.revision.spec.number)).toEqual([1]);
    expect(seen?.elsewhere.map(({ spec }) => spec.number)).toEqual([2]);
  });
});
