import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { DEFAULT_EXPORT_LIMITS } from '#lib/export-plan';
import {
  type BulkExport,
  type BulkExportRun,
  exportJobName,
  findCondition,
  isConditionTrue,
  type Job,
  type Pod,
} from '#lib/resources';
import { itLong } from '#lib/testing';
import type { ExportProgressRecord } from '#lib/trace-store';
import { attemptOf, decideRun, type ExportRunWorld } from './decide.js';
import { summarizeRun } from './run-status.js';

/** End of a worker. It has claimed its attempt before that, unless the end comes too early. */
type End =
  | 'exits with an error'
  | 'is killed'
  | 'is killed before its claim'
  | 'loses its Job'
  | 'loses its Job before its claim'
  | 'takes too long'
  | 'is refused by the destination'
  | 'refuses the run'
  | 'completes'
  | 'is killed after its last write';

type Step =
  | { readonly kind: 'pass'; readonly dies: 'no' | 'before the report' | 'after the report' }
  | { readonly kind: 'time'; readonly seconds: number }
  | { readonly kind: 'claim' }
  | { readonly kind: 'end'; readonly how: End };

const FAILURES = [
  'exits with an error',
  'is killed',
  'is killed before its claim',
  'takes too long',
] as const;

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      kind: fc.constant('pass' as const),
      dies: fc.constantFrom('no', 'no', 'no', 'before the report', 'after the report'),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant('time' as const), seconds: fc.integer({ min: 1, max: 40 }) }),
  },
  { weight: 3, arbitrary: fc.constant({ kind: 'claim' } as const) },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('end' as const),
      how: fc.oneof(
        { weight: 30, arbitrary: fc.constantFrom<End[]>(...FAILURES) },
        { weight: 8, arbitrary: fc.constantFrom<End[]>('loses its Job', 'loses its Job before its claim') },
        { weight: 1, arbitrary: fc.constantFrom<End[]>('is refused by the destination', 'refuses the run') },
        { weight: 1, arbitrary: fc.constantFrom<End[]>('completes', 'is killed after its last write') },
      ),
    }),
  },
);

const EXIT_CODES: Partial<Readonly<Record<End, number>>> = {
  'exits with an error': 1,
  'is killed': 137,
  'is killed before its claim': 137,
  'is refused by the destination': 65,
  'refuses the run': 64,
  completes: 0,
  'is killed after its last write': 137,
};

/**
 * Expected result of an export's run, computed only from the ends of its workers: an attempt ends a run
 * finally, or uses up one of `retries` + 1. A Job that is deleted before its worker has claimed the attempt
 * uses up none.
 */
class Model {
  readonly failedAtMs: number[] = [];
  outcome: string | undefined;

  constructor(private readonly retries: number) {}

  end(how: End, atMs: number): void {
    if (how === 'loses its Job before its claim') return;
    if (how === 'completes' || how === 'is killed after its last write') this.outcome = 'Completed';
    else if (how === 'is refused by the destination') this.outcome = 'StorageFailed';
    else if (how === 'refuses the run') this.outcome = 'RunRefused';
    else if (this.failedAtMs.push(atMs) > this.retries) this.outcome = 'AttemptFailed';
  }
}

/** The API server, the database and the node around one run, and a controller that may die anywhere. */
class Simulation {
  /** Times at which each attempt got its first Job. */
  readonly startedAtMs: number[] = [];
  readonly model: Model;
  #run = {
    metadata: { name: 'x-01', uid: '0123456789ab-run', generation: 1 },
    spec: { startTime: '2026-05-01T00:00:00Z', endTime: '2026-05-02T00:00:00Z' },
  } as unknown as BulkExportRun;
  #progress: ExportProgressRecord | undefined;
  #jobs = new Map<string, { readonly job: Job; readonly pods: readonly Pod[] }>();
  #nowMs = Date.parse('2026-05-03T00:00:00Z');

  constructor(private readonly retries: number) {
    this.model = new Model(retries);
  }

  get run(): BulkExportRun {
    return this.#run;
  }

  perform(step: Step): void {
    if (step.kind === 'time') this.#nowMs += step.seconds * 1000;
    else if (step.kind === 'pass') this.#pass(step.dies);
    else if (step.kind === 'claim') this.#claim();
    else this.#end(step.how);
  }

  /** Passes without a fault until nothing is to be done. */
  settle(): void {
    for (let passes = 0; passes < 3; passes++) {
      this.#nowMs += 31_000;
      this.#pass('no');
    }
  }

  #world(): ExportRunWorld {
    const attempt = attemptOf({ run: this.#run, progress: this.#progress });
    const found = attempt === 0 ? undefined : this.#jobs.get(this.#jobName(attempt));
    return {
      run: this.#run,
      bulkExport: { metadata: { name: 'x' }, spec: {} } as BulkExport,
      place: 0,
      atWork: { all: 0, ofWorkspace: 0, ahead: 0, exportsAhead: 0 },
      job: found?.job,
      pods: found?.pods ?? [],
      progress: this.#progress,
      now: new Date(this.#nowMs),
      limits: { ...DEFAULT_EXPORT_LIMITS, retries: this.retries },
    };
  }

  #jobName(attempt: number): string {
    return exportJobName(this.#run.metadata.uid ?? '', attempt);
  }

  #pass(dies: 'no' | 'before the report' | 'after the report'): void {
    const world = this.#world();
    const decision = decideRun(world);
    if (dies === 'before the report' || decision.kind === 'finished') return;
    this.#run = { ...this.#run, status: summarizeRun(world, decision) };
    if (dies === 'after the report') return;
    if (decision.kind === 'start') this.#start(decision.attempt);
    if (decision.kind === 'ensureJob') this.#start(attemptOf(world));
  }

  #start(attempt: number): void {
    const name = this.#jobName(attempt);
    if (this.#jobs.has(name)) return;
    this.#jobs.set(name, { job: { metadata: { name }, status: { active: 1 } } as unknown as Job, pods: [] });
    this.startedAtMs[attempt - 1] ??= this.#nowMs;
  }

  /** The Job of the newest attempt while its worker is at work. */
  #working(): { readonly name: string; readonly attempt: number } | undefined {
    const attempt = attemptOf({ run: this.#run, progress: this.#progress });
    const name = this.#jobName(attempt);
    return attempt > 0 && this.#jobs.get(name)?.job.status?.active === 1 ? { name, attempt } : undefined;
  }

  #claim(): void {
    const working = this.#working();
    if (working && this.#progress?.attempt !== working.attempt)
      this.#write(working.attempt, { state: 'running', error: undefined });
  }

  #write(attempt: number, more: Partial<ExportProgressRecord>): void {
    const before = { rows: 0, bytes: 0, files: 0, state: 'running', ...this.#progress };
    const updatedAt = new Date(this.#nowMs);
    this.#progress = { ...before, attempt, updatedAt, ...more } as ExportProgressRecord;
  }

  #end(how: End): void {
    const working = this.#working();
    if (!working) return;
    const { name, attempt } = working;
    const isClaimed = this.#progress?.attempt === attempt;
    const isEarly = how.endsWith('before its claim');
    if (isEarly && isClaimed) return;
    if (!isEarly) this.#claim();
    // nothing says when a Job was deleted: the pause counts from what its worker wrote last
    const lastWriteMs = this.#progress?.updatedAt.getTime() ?? this.#nowMs;
    this.model.end(how, how === 'loses its Job' ? lastWriteMs : this.#nowMs);
    if (how === 'loses its Job' || how === 'loses its Job before its claim') {
      this.#jobs.delete(name);
      return;
    }
    if (how === 'exits with an error') this.#write(attempt, { error: 'the store answers 503' });
    if (this.model.outcome === 'Completed') this.#write(attempt, { state: 'completed' });
    const exitCode = EXIT_CODES[how];
    const condition = {
      type: how === 'completes' ? 'Complete' : 'Failed',
      status: 'True',
      lastTransitionTime: new Date(this.#nowMs).toISOString(),
      ...(how === 'takes too long' ? { reason: 'DeadlineExceeded' } : {}),
    };
    const status = { containerStatuses: [{ state: { terminated: { exitCode } } }] };
    this.#jobs.set(name, {
      job: { metadata: { name }, status: { conditions: [condition] } } as unknown as Job,
      pods: exitCode === undefined ? [] : [{ spec: { containers: [{}] }, status } as unknown as Pod],
    });
  }
}

/**
 *
 * @returns end of the run; undefined while it runs
 */
function outcomeOf({ status }: BulkExportRun): string | undefined {
  if (isConditionTrue(status?.conditions, 'Completed')) return 'Completed';
  const failed = findCondition(status?.conditions, 'Failed');
  return failed?.status === 'True' ? failed.reason : undefined;
}

function check(retries: number, steps: readonly Step[]): string | undefined {
  const simulation = new Simulation(retries);
  for (const one of steps) simulation.perform(one);
  simulation.settle();
  const { model, run, startedAtMs } = simulation;
  const failures = model.failedAtMs.length;
  expect(outcomeOf(run)).toBe(model.outcome);
  expect(startedAtMs).toHaveLength(failures > retries ? failures : failures + 1);
  // each failure is followed by one attempt, never before the pause is over
  for (const [index, failedAtMs] of model.failedAtMs.entries())
    if (index + 1 < startedAtMs.length)
      expect((startedAtMs[index + 1] ?? 0) - failedAtMs).toBeGreaterThanOrEqual(
        DEFAULT_EXPORT_LIMITS.retryDelayMs,
      );
  const refused = model.outcome === 'StorageFailed' || model.outcome === 'RunRefused' ? 1 : 0;
  const told = Array.from({ length: failures + refused }, (_, index) => `retry_${index}`);
  expect(Object.keys(run.status?.errors ?? {}).sort()).toEqual(told.sort());
  return model.outcome;
}

const sequences = fc.tuple(fc.integer({ min: 0, max: 4 }), fc.array(step, { minLength: 20, maxLength: 160 }));

describe('simulated attempts at an export run', () => {
  it('uses up one retry for each failure, whatever dies in between', () => {
    const outcomes = new Set<string | undefined>();
    fc.assert(
      fc.property(sequences, ([retries, steps]) => void outcomes.add(check(retries, steps))),
      { numRuns: 1_000 },
    );
    expect(outcomes).toEqual(
      new Set([undefined, 'AttemptFailed', 'Completed', 'RunRefused', 'StorageFailed']),
    );
  });

  itLong('uses up one retry for each failure of ten thousand sequences', () => {
    fc.assert(
      fc.property(sequences, ([retries, steps]) => void check(retries, steps)),
      { numRuns: 10_000 },
    );
  });
});
