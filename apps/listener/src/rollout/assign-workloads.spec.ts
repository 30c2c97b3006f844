import type { AgentRevision, Condition } from '#lib/resources';
import { assignWorkloads } from './observe.js';
import type { Served } from './world.js';

function revision(number: number, types: string[] = [], redeployOf?: number): AgentRevision {
  const conditions = ['Built', ...types].map((type): Condition => ({
    type,
    status: 'True',
    reason: 'R',
    message: '',
    lastTransitionTime: '',
  }));
  return {
    metadata: { name: `a-${number}` },
    spec: { number, ...(redeployOf === undefined ? {} : { redeployOf: `a-${redeployOf}` }) },
    status: { conditions },
  } as unknown as AgentRevision;
}

const former = (number: number, redeployOf?: number) => revision(number, ['Active'], redeployOf);
const serving = (revisionNumber: number, workload = revisionNumber): Served => ({
  revision: `a-${revisionNumber}`,
  workload: `a-${workload}`,
});

interface Row {
  readonly revisions: readonly AgentRevision[];
  /** Numbers of the Deployments that exist. */
  readonly exist: readonly number[];
  readonly served?: Served;
  /** Number of the revision whose Deployment runs it, for each revision. */
  readonly run: readonly number[];
}

describe('assignWorkloads', () => {
  it.each<[string, Row]>([
    [
      'gives each revision its own Deployment',
      { revisions: [former(1), former(2)], exist: [1, 2], served: serving(2), run: [1, 2] },
    ],
    [
      'runs a rollback on the Deployment that was kept',
      {
        revisions: [former(1), former(2), revision(3, [], 1)],
        exist: [1, 2],
        served: serving(2),
        run: [1, 2, 1],
      },
    ],
    [
      'goes on running a rollback there once it serves',
      {
        revisions: [former(1), former(2), former(3, 1)],
        exist: [1, 2],
        served: serving(3, 1),
        run: [1, 2, 1],
      },
    ],
    [
      'starts new pods for a repeat of the revision that serves',
      { revisions: [former(1), revision(2, [], 1)], exist: [1], served: serving(1), run: [1, 2] },
    ],
    [
      'starts new pods for a repeat whose Deployment is in use by another repeat',
      {
        revisions: [former(1), former(2, 1), revision(3, [], 1)],
        exist: [1],
        served: serving(2, 1),
        run: [1, 1, 3],
      },
    ],
    [
      'leaves a repeat on its own Deployment once it has one',
      {
        revisions: [former(1), former(2), revision(3, [], 1)],
        exist: [1, 2, 3],
        served: serving(2),
        run: [1, 2, 3],
      },
    ],
    [
      'starts new pods when no Deployment was kept',
      {
        revisions: [former(1), former(2), revision(3, [], 1)],
        exist: [2],
        served: serving(2),
        run: [1, 2, 3],
      },
    ],
    [
      'borrows nothing from a revision that never served',
      {
        revisions: [revision(1), former(2), revision(3, [], 1)],
        exist: [1, 2],
        served: serving(2),
        run: [1, 2, 3],
      },
    ],
    [
      'gives the Deployment back when the rollback failed',
      {
        revisions: [former(1), former(2), revision(3, ['Failed'], 1)],
        exist: [1, 2],
        served: serving(2),
        run: [1, 2, 3],
      },
    ],
    [
      'gives the Deployment back when the rollback was overtaken',
      {
        revisions: [former(1), former(2), revision(3, [], 1), revision(4)],
        exist: [1, 2],
        served: serving(2),
        run: [1, 2, 3, 4],
      },
    ],
    [
      'prefers the newest of several repeats',
      {
        revisions: [former(1), former(2, 1), former(3), revision(4, [], 1)],
        exist: [1, 3],
        served: serving(3),
        run: [1, 2, 3, 1],
      },
    ],
    [
      'starts new pods when the revision that it ran on was deleted',
      { revisions: [former(3, 1)], exist: [], served: serving(3, 1), run: [3] },
    ],
  ])('%s', (_, { revisions, exist, served, run }) => {
    const workloads = new Map(exist.map((number) => [`a-${number}`, {}]));
    const origins = assignWorkloads(revisions, workloads, served, revisions.at(-1)?.metadata.name);
    expect(revisions.map(({ metadata }) => origins.get(metadata.name)?.spec.number)).toEqual(run);
  });
});
