import type { AgentDeployment, AgentRevision } from '#lib/resources';
import { planRollout } from './plan.js';
import {
  ACTIVE,
  condition,
  CRASHED,
  fates,
  NOW,
  revision,
  SECONDS,
  UP,
  WANTED,
  world,
} from './testdata/sample-rollout.js';
import { DEFAULT_PATIENCE, type RolloutWorld } from './world.js';

const NEVER_PULLED = { state: { waiting: { reason: 'ErrImageNeverPull' } } };
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
      'gives up at once on an image that a node of processes does not have',
      world(undefined, revision({ number: 1, age: 1, runtime: 'process', container: NEVER_PULLED })),
      undefined,
      ['failed'],
    ],
    [
      'has patience with an image that a node of containers may be given',
      world(undefined, revision({ number: 1, age: 1, container: NEVER_PULLED })),
      undefined,
      ['deploying'],
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

  it('leaves the Service alone when a revision is ready in the moment of the suspension', () => {
    const ready = world(
      1,
      revision({ number: 1, ready: true, conditions: [ACTIVE] }),
      revision({ number: 2, ready: true }),
    );
    expect(fates(ready).serving).toBe('a-00002');
    const deployment = { ...ready.deployment, spec: { ...ready.deployment.spec, suspend: true } };
    expect(fates({ ...ready, deployment })).toEqual({
      serving: 'a-00001',
      fates: ['suspended', 'suspended'],
    });
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
    // and until it is ready keeps serving
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
      revision({ number: 2, ready: true, conditions: [condition('Active', 'True', 'Active', 600)] }),
    );
    expect(planRollout(observed, NOW, DEFAULT_PATIENCE).lookAgainMs).toBe(3000);
    const warm = world(
      2,
      revision({ number: 1, ready: true, conditions: [condition('Active', 'False', 'Replaced', 50)] }),
      revision({ number: 2, ready: true, conditions: [condition('Active', 'True', 'Active', 600)] }),
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
