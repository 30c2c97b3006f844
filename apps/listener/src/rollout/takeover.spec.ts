import type { AgentDeployment, AgentRevision, Condition, ContainerStatus } from '#lib/resources';
import type { PodAnswer } from '../place/ask-pod.js';
import { planRollout } from './plan.js';
import { summarizeRevision } from './revision-status.js';
import {
  ACTIVE,
  condition,
  CRASHED,
  fates,
  NOW,
  revision,
  type Shape,
  WANTED,
  world,
} from './testdata/sample-rollout.js';
import { DEFAULT_PATIENCE, type RolloutWorld } from './world.js';

describe('a revision that takes over', () => {
  const REPLACED = condition('Active', 'False', 'Replaced', 30);
  const former = revision({ number: 1, ready: true, conditions: [REPLACED] });
  const CRASH = { exitCode: 3, message: 'Error: no model' };
  const ended = (times: number): Partial<ContainerStatus> => ({
    restartCount: times - 1,
    state: { terminated: CRASH },
  });
  const second = (container: Partial<ContainerStatus>, ...conditions: readonly Condition[]) =>
    revision({ number: 2, conditions: [ACTIVE, ...conditions], container });
  const UNREADY = (age: number) => condition('Ready', 'False', 'Deploying', age);

  const COLD = condition('Active', 'False', 'Replaced', 600);
  const HOST_ENDED = (times: number): PodAnswer => ({
    waitingFor: undefined,
    progress: `graph host ended ${times} times with nothing to do: Error: boom`,
    hostEnds: times,
  });
  const dying = (times: number, more: Partial<Shape>) =>
    revision({
      number: 2,
      conditions: [ACTIVE],
      container: { ready: true },
      answer: HOST_ENDED(times),
      ...more,
    });

  it.each<[string, RolloutWorld, string, string[]]>([
    [
      'lets a new revision prove itself before it takes over',
      world(
        1,
        revision({ number: 1, ready: true, conditions: [ACTIVE] }),
        revision({ number: 2, ready: true, readyFor: 499 }),
      ),
      'a-00001',
      ['serving', 'deploying'],
    ],
    [
      'switches once it has',
      world(
        1,
        revision({ number: 1, ready: true, conditions: [ACTIVE] }),
        revision({ number: 2, ready: true, readyFor: 500 }),
      ),
      'a-00002',
      ['retiring', 'serving'],
    ],
    [
      'lets a repeat of a revision that served take over at once',
      world(
        2,
        revision({ number: 1, conditions: [REPLACED] }),
        revision({ number: 2, ready: true, conditions: [ACTIVE] }),
        revision({ number: 3, ready: true, readyFor: 0, repeats: 1 }),
      ),
      'a-00003',
      ['standby', 'retiring', 'serving'],
    ],
    [
      'takes over at once while no revision has ready pods',
      world(
        1,
        revision({ number: 1, conditions: [ACTIVE] }),
        revision({ number: 2, ready: true, readyFor: 0 }),
      ),
      'a-00002',
      ['retiring', 'serving'],
    ],
    [
      'lets the container of the one that serves be started again once',
      world(2, former, second(ended(1))),
      'a-00002',
      ['warm', 'serving'],
    ],
    [
      'goes back when the one that took over ends again',
      world(2, former, second(ended(2))),
      'a-00001',
      ['serving', 'failed'],
    ],
    [
      'goes back when the graph host of its pod ends again, whether or not the pod counts as ready',
      world(2, former, dying(2, { ready: true })),
      'a-00001',
      ['serving', 'failed'],
    ],
    [
      'lets the graph host be started again once',
      world(2, former, dying(1, { ready: true })),
      'a-00002',
      ['warm', 'serving'],
    ],
    [
      'does not let a revision take over whose graph host has ended meanwhile',
      world(
        1,
        revision({ number: 1, ready: true, conditions: [ACTIVE] }),
        revision({ number: 2, ready: true, container: { ready: true }, answer: HOST_ENDED(1) }),
      ),
      'a-00001',
      ['serving', 'deploying'],
    ],
    [
      'fails a revision whose graph host ended three times before it took over',
      world(
        1,
        revision({ number: 1, ready: true, conditions: [ACTIVE] }),
        revision({ number: 2, container: { state: { running: {} } }, answer: HOST_ENDED(3) }),
      ),
      'a-00001',
      ['serving', 'failed'],
    ],
    [
      'starts the former revision when the one that serves has failed after the former one went cold',
      world(2, revision({ number: 1, conditions: [COLD] }), second(ended(2))),
      'a-00002',
      ['warm', 'serving'],
    ],
    [
      'goes back to it once it is ready',
      world(2, revision({ number: 1, ready: true, conditions: [COLD] }), second(ended(2))),
      'a-00001',
      ['serving', 'failed'],
    ],
    [
      'goes back when its graph does not load any more',
      world(2, former, second({ state: { terminated: CRASHED } })),
      'a-00001',
      ['serving', 'failed'],
    ],
    [
      'goes back when no pod of it is ready for a while',
      world(2, former, second({ state: { running: {} } }, UNREADY(31))),
      'a-00001',
      ['serving', 'failed'],
    ],
    [
      'has patience with it until then',
      world(2, former, second({ state: { running: {} } }, UNREADY(29))),
      'a-00002',
      ['warm', 'serving'],
    ],
    [
      'blames no revision for the database',
      world(2, former, second({ restartCount: 5, state: { terminated: WANTED } }, UNREADY(600))),
      'a-00002',
      ['warm', 'serving'],
    ],
    [
      'stays when the former revision has no pods',
      world(2, revision({ number: 1, conditions: [REPLACED] }), second(ended(9), UNREADY(900))),
      'a-00002',
      ['warm', 'serving'],
    ],
    [
      'keeps the former one warm for as long again while the one that took over is not ready',
      world(
        2,
        revision({ number: 1, ready: true, conditions: [condition('Active', 'False', 'Replaced', 119)] }),
        second({ state: { running: {} } }, UNREADY(5)),
      ),
      'a-00002',
      ['warm', 'serving'],
    ],
    [
      'and no longer',
      world(
        2,
        revision({ number: 1, ready: true, conditions: [condition('Active', 'False', 'Replaced', 120)] }),
        second({ state: { running: {} } }, UNREADY(5)),
      ),
      'a-00002',
      ['standby', 'serving'],
    ],
    [
      'goes on with what an earlier pass began',
      world(2, former, second(ended(2), condition('Failed', 'True', 'CrashLoop'))),
      'a-00001',
      ['serving', 'failed'],
    ],
    [
      'does not come back to a revision that failed while it served',
      world(
        1,
        revision({ number: 1, ready: true, conditions: [ACTIVE] }),
        revision({
          number: 2,
          ready: true,
          conditions: [condition('Active', 'False', 'RolledBack'), condition('Failed', 'True', 'CrashLoop')],
        }),
      ),
      'a-00001',
      ['serving', 'failed'],
    ],
    [
      'takes a newer revision that is ready rather than an older one',
      world(2, former, second(ended(2)), revision({ number: 3, ready: true, readyFor: 0 })),
      'a-00003',
      ['standby', 'retiring', 'serving'],
    ],
  ])('%s', (_name, observed, serving, expected) => {
    expect(fates(observed)).toEqual({ serving, fates: expected });
  });

  it('stays where the deployment asks for that', () => {
    const observed = world(2, former, second(ended(9), UNREADY(900)));
    const spec = { rollbackOnFailure: false } as AgentDeployment['spec'];
    const kept = { ...observed, deployment: { ...observed.deployment, spec } };
    expect(fates(kept)).toEqual({ serving: 'a-00002', fates: ['warm', 'serving'] });
  });

  it('reports why it went back, and keeps that', () => {
    const observed = world(2, former, second(ended(2)));
    const { fallen } = planRollout(observed, NOW, DEFAULT_PATIENCE);
    const status = fallen && summarizeRevision(fallen, undefined, NOW);
    const found = (type: string) => status?.conditions?.find((one) => one.type === type);
    const message = 'container agent exited 2 times, last with code 3: Error: no model';
    expect(found('Failed')).toMatchObject({ status: 'True', reason: 'CrashLoop', message });
    const active = {
      status: 'False',
      reason: 'RolledBack',
      message: 'it failed while it served; the Service points to a-00001 again',
    };
    expect(found('Active')).toMatchObject(active);
    const later = world(1, former, {
      ...revision({ number: 2, workload: 'none' }),
      revision: { ...observed.revisions[1]?.revision, status } as unknown as AgentRevision,
    });
    const [, again] = planRollout(later, NOW, DEFAULT_PATIENCE).revisions;
    const kept = again && summarizeRevision(again, undefined, NOW);
    expect(kept?.conditions?.find(({ type }) => type === 'Active')).toMatchObject(active);
    expect(kept?.serving).toBe(false);
  });

  it('looks again when a revision has proven itself', () => {
    const observed = world(
      1,
      revision({ number: 1, ready: true, conditions: [ACTIVE] }),
      revision({ number: 2, ready: true, readyFor: 3_000 }),
    );
    expect(planRollout(observed, NOW, DEFAULT_PATIENCE).lookAgainMs).toBe(2_000);
  });
});
