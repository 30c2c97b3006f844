import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Job, JobStatus, Pod } from '#lib/resources';
import { countPods, judgeFailure, TRACKING_FINALIZER } from './count-pods.js';
import { decideJob, type JobDecision } from './decide-job.js';
import { summarizeJob } from './job-controller.js';

const NOW = new Date('2026-01-01T00:10:00Z');
let uids = 0;

function job(
  spec: Partial<Job['spec']> = {},
  status: JobStatus = { startTime: '2026-01-01T00:00:00Z' },
): Job {
  const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'main' }] } } as const;
  return { metadata: { namespace: 'ns', name: 'j', uid: 'j' }, spec: { template, ...spec }, status };
}
type Phase = NonNullable<Pod['status']>['phase'];
function pod(
  phase: Phase,
  more: {
    finishedAt?: string;
    deleted?: boolean;
    exitCode?: number;
    restarts?: number;
    released?: boolean;
  } = {},
): Pod {
  const finishedAt = more.finishedAt ?? '2026-01-01T00:09:59Z';
  const hasEnded = phase === 'Failed' || phase === 'Succeeded';
  return {
    metadata: {
      namespace: 'ns',
      name: `p${++uids}`,
      uid: `p${uids}`,
      finalizers: more.released ? [] : [TRACKING_FINALIZER],
      ...(more.deleted ? { deletionTimestamp: finishedAt, deletionGracePeriodSeconds: 0 } : {}),
    },
    spec: { nodeName: 'n', containers: [{ name: 'main' }] },
    status: {
      ...(phase ? { phase } : {}),
      containerStatuses: [
        {
          name: 'main',
          image: '',
          imageID: '',
          ready: false,
          restartCount: more.restarts ?? 0,
          ...(hasEnded
            ? {
                state: {
                  terminated: { exitCode: more.exitCode ?? (phase === 'Failed' ? 1 : 0), finishedAt },
                },
              }
            : {}),
        },
      ],
    },
  };
}

function decide(given: Job, pods: readonly Pod[], now = NOW): string {
  const decision: JobDecision = decideJob(given, countPods(given, pods), pods, now);
  switch (decision.kind) {
    case 'none':
      return decision.afterMs === undefined ? 'none' : `after ${decision.afterMs}`;
    case 'create':
      return `create ${decision.count}`;
    case 'delete':
      return `delete ${decision.pods.length}`;
    case 'suspend':
      return `suspend ${decision.deletePods.length}`;
    case 'end':
      return `${decision.end.result} ${decision.end.reason} delete ${decision.deletePods.length}${decision.isOver ? ' over' : ''}`;
    default:
      return decision satisfies never;
  }
}

describe('decideJob', () => {
  const old = '2026-01-01T00:00:01Z';
  it.each<[string, Job, Pod[], string]>([
    ['makes the first pod', job(), [], 'create 1'],
    ['makes as many as may run at once', job({ completions: 5, parallelism: 3 }), [], 'create 3'],
    [
      'makes no more than are left to do',
      job({ completions: 5, parallelism: 3 }, { succeeded: 4 }),
      [],
      'create 1',
    ],
    [
      'waits for what runs',
      job({ completions: 2, parallelism: 2 }),
      [pod('Running'), pod('Pending')],
      'none',
    ],
    [
      'stops what is too many',
      job({ completions: 5, parallelism: 1 }),
      [pod('Running'), pod('Running')],
      'delete 1',
    ],
    [
      'announces completion, and is over once all are counted',
      job({ completions: 1 }),
      [pod('Succeeded')],
      'complete CompletionsReached delete 0',
    ],
    [
      'is over when all are counted',
      job({ completions: 1 }, { succeeded: 1 }),
      [pod('Succeeded', { released: true })],
      'complete CompletionsReached delete 0 over',
    ],
    [
      'stops what still runs when enough succeeded',
      job({ completions: 1, parallelism: 2 }, { succeeded: 1 }),
      [pod('Running')],
      'complete CompletionsReached delete 1',
    ],
    [
      'without a number is complete when one succeeded and none runs',
      job({ parallelism: 2 }, { succeeded: 1 }),
      [],
      'complete CompletionsReached delete 0 over',
    ],
    [
      'without a number makes no new pod once one succeeded',
      job({ parallelism: 3 }, { succeeded: 1 }),
      [pod('Running')],
      'none',
    ],
    [
      'fails at the first failure without a back-off limit',
      job({ backoffLimit: 0 }),
      [pod('Failed')],
      'failed BackoffLimitExceeded delete 0',
    ],
    ['tries again ten seconds after the first failure', job(), [pod('Failed')], 'after 9000'],
    ['tries again at once when that is long ago', job(), [pod('Failed', { finishedAt: old })], 'create 1'],
    [
      'waits twice as long after the second failure',
      job(),
      [pod('Failed', { finishedAt: old }), pod('Failed')],
      'after 19000',
    ],
    [
      'begins anew after a success',
      job({ completions: 3 }),
      [pod('Failed', { finishedAt: old }), pod('Succeeded')],
      'create 1',
    ],
    [
      'fails when its time is over, and stops what runs',
      job({ activeDeadlineSeconds: 600 }),
      [pod('Running')],
      'failed DeadlineExceeded delete 1',
    ],
    [
      'looks again when its time will be over',
      job({ activeDeadlineSeconds: 660 }),
      [pod('Running')],
      'after 60000',
    ],
    [
      'stops everything while suspended',
      job({ suspend: true, activeDeadlineSeconds: 1 }),
      [pod('Running')],
      'suspend 1',
    ],
    [
      'counts restarts in place',
      job({ backoffLimit: 2, template: { spec: { restartPolicy: 'OnFailure', containers: [] } } }),
      [pod('Running', { restarts: 2 })],
      'failed BackoffLimitExceeded delete 1',
    ],
    [
      'counts a pod that was deleted under it as failed',
      job({ backoffLimit: 0 }),
      [pod('Running', { deleted: true })],
      'failed BackoffLimitExceeded delete 0',
    ],
    [
      'keeps to the end that it announced',
      job(
        {},
        { conditions: [{ type: 'FailureTarget', status: 'True', reason: 'DeadlineExceeded', message: '' }] },
      ),
      [pod('Succeeded')],
      'failed DeadlineExceeded delete 0',
    ],
    [
      'does nothing about a job that is going',
      { ...job(), metadata: { name: 'j', deletionTimestamp: old } },
      [],
      'none',
    ],
  ])('%s', (_name, given, pods, expected) => expect(decide(given, pods)).toBe(expected));
});

describe('countPods', () => {
  it('counts every finished pod exactly once across interruptions and deletions', () => {
    const steps = fc.array(fc.constantFrom('finish', 'status', 'release', 'remove', 'crash'), {
      maxLength: 60,
    });
    fc.assert(
      fc.property(fc.array(fc.boolean(), { minLength: 1, maxLength: 6 }), steps, (outcomes, order) => {
        let pods = outcomes.map(() => pod('Running'));
        let status: JobStatus = {};
        const release = (uid: string | undefined): void => {
          pods = pods.map((one) =>
            one.metadata.uid === uid ? { ...one, metadata: { ...one.metadata, finalizers: [] } } : one,
          );
        };
        const all: string[] = [
          ...order,
          ...Array<string>(outcomes.length).fill('finish'),
          'status',
          'release',
          'status',
          'release',
          'status',
        ];
        for (const step of all) {
          const given = job({ completions: 99, parallelism: 99, backoffLimit: 99 }, status);
          const count = countPods(given, pods);
          if (step === 'finish') {
            const at = pods.findIndex(({ status: one }) => one?.phase === 'Running');
            const running = pods[at];
            if (running)
              pods = pods.with(at, { ...running, status: { phase: outcomes[at] ? 'Succeeded' : 'Failed' } });
          } else if (step === 'status') {
            status = summarizeJob(given, count, { kind: 'none' }, { created: 0, deleted: 0 }, NOW);
          } else if (step === 'release') {
            // only what the written status has noted, as the controller does
            const noted = [
              ...(status.uncountedTerminatedPods?.succeeded ?? []),
              ...(status.uncountedTerminatedPods?.failed ?? []),
            ];
            for (const one of count.toRelease)
              if (noted.includes(one.metadata.uid ?? '')) release(one.metadata.uid);
          } else if (step === 'remove') {
            pods = pods.map((one) =>
              one.metadata.finalizers?.length
                ? { ...one, metadata: { ...one.metadata, deletionTimestamp: 'x' } }
                : one,
            );
          }
        }
        expect([status.succeeded ?? 0, status.failed ?? 0]).toEqual([
          outcomes.filter(Boolean).length,
          outcomes.filter((good) => !good).length,
        ]);
        expect(status.uncountedTerminatedPods).toEqual({});
      }),
    );
  });

  it('does not count a pod stopped by a suspension as failed', () => {
    const given = job({ suspend: true });
    const count = countPods(given, [pod('Running', { deleted: true })]);
    expect([count.failed, count.uncounted.failed, count.toRelease.length]).toEqual([0, [], 1]);
  });
});

describe('judgeFailure', () => {
  const policy = (rules: NonNullable<Job['spec']['podFailurePolicy']>['rules']): Job =>
    job({ podFailurePolicy: { rules } });
  const failed = pod('Failed', { exitCode: 42 });
  const evicted: Pod = {
    ...pod('Failed'),
    status: { phase: 'Failed', conditions: [{ type: 'DisruptionTarget', status: 'True' }] },
  };
  const codes = (action: 'FailJob' | 'Ignore', operator: 'In' | 'NotIn', values: number[]) => ({
    action,
    onExitCodes: { operator, values },
  });
  it.each<[string, Job, Pod, string]>([
    ['counts without a policy', job(), failed, 'count'],
    ['fails the job at an exit code', policy([codes('FailJob', 'In', [41, 42])]), failed, 'fail-job'],
    [
      'takes the first rule that fits',
      policy([codes('Ignore', 'In', [1]), codes('FailJob', 'NotIn', [1])]),
      failed,
      'fail-job',
    ],
    [
      'ignores a disruption',
      policy([{ action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget' }] }]),
      evicted,
      'ignore',
    ],
    ['counts when no rule fits', policy([codes('FailJob', 'In', [1])]), failed, 'count'],
  ])('%s', (_name, given, one, expected) => expect(judgeFailure(given, one).kind).toBe(expected));
});
