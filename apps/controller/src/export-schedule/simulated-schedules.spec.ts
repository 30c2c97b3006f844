import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { DEFAULT_EXPORT_LIMITS } from '#lib/export-plan';
import type { BulkExport, BulkExportDestination, BulkExportStatus, Workspace } from '#lib/resources';
import { formatInstant, type Instant, instantOf, parseInstant } from '#lib/time';
import { decideExport } from '../bulk-export/decide.js';
import { buildChild } from './schedule-reconciler.js';
import { decideSchedule, type ScheduleWorld } from './decide-schedule.js';
import { summarizeSchedule } from './schedule-status.js';

const ID = '6f1c2d3e-0000-4000-8000-000000000001';
const HOUR_MS = 3_600_000;
const SETTLE_MICROS = 600_000_000n;
const MAX_UNFINISHED = 3;

/** One thing that happens to a schedule. */
type Step =
  | { readonly kind: 'pass'; readonly dies: 'no' | 'before report' | 'before create' | 'after create' }
  /** The controller is down, or nothing happens. */
  | { readonly kind: 'time'; readonly ms: number }
  /** The database's clock is set, forwards or backwards. */
  | { readonly kind: 'clock step'; readonly ms: number }
  | { readonly kind: 'a child ends' }
  | { readonly kind: 'a child is archived' }
  | { readonly kind: 'a child is deleted' }
  | { readonly kind: 'the status is lost' }
  | { readonly kind: 'the cache lags' }
  | { readonly kind: 'suspend'; readonly isSuspended: boolean };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      kind: fc.constant('pass' as const),
      dies: fc.constantFrom('no', 'no', 'no', 'before report', 'before create', 'after create'),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('time' as const),
      ms: fc.oneof(fc.integer({ min: 1, max: HOUR_MS }), fc.integer({ min: HOUR_MS, max: 100 * HOUR_MS })),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('clock step' as const),
      ms: fc.integer({ min: -30 * HOUR_MS, max: 30 * HOUR_MS }),
    }),
  },
  { weight: 4, arbitrary: fc.constant({ kind: 'a child ends' } as const) },
  { weight: 2, arbitrary: fc.constant({ kind: 'a child is archived' } as const) },
  { weight: 1, arbitrary: fc.constant({ kind: 'a child is deleted' } as const) },
  { weight: 1, arbitrary: fc.constant({ kind: 'the status is lost' } as const) },
  { weight: 2, arbitrary: fc.constant({ kind: 'the cache lags' } as const) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('suspend' as const), isSuspended: fc.boolean() }),
  },
);

const time = (text: string | undefined): Instant => parseInstant(text ?? '', { zone: 'required' }) ?? 0n;

/** The server, the archive and the database's clock around one schedule, and a controller that may die anywhere. */
class Simulation {
  /** Every window that an export was ever made for, in the order in which they were made. */
  readonly made: { readonly start: Instant; readonly end: Instant; readonly at: Instant }[] = [];
  readonly #start: string;
  readonly #intervalHours: number;
  /** Exports on the server by name. */
  readonly #server = new Map<string, BulkExport>();
  #status: BulkExportStatus = {};
  #isSuspended = false;
  #archivedUntil: Instant | undefined;
  /** Exports as a lagging cache shows them. */
  #stale: readonly BulkExport[] | undefined;
  #nowMs: number;

  constructor(start: string, intervalHours: number) {
    this.#start = start;
    this.#intervalHours = intervalHours;
    this.#nowMs = Date.parse(start);
  }

  perform(one: Step): void {
    switch (one.kind) {
      case 'pass':
        return this.#pass(one.dies);
      case 'time':
      case 'clock step':
        this.#nowMs += one.ms;
        return;
      case 'a child ends':
        return this.#endOne();
      case 'a child is archived':
        return this.#archiveOne();
      case 'a child is deleted':
        return this.#deleteOne();
      case 'the status is lost':
        this.#status = {};
        return;
      case 'the cache lags':
        this.#stale = [...this.#server.values()];
        return;
      case 'suspend':
        this.#isSuspended = one.isSuspended;
        return;
      default:
        one satisfies never;
    }
  }

  /** Lets it work until nothing is due any more. */
  settle(): void {
    this.#isSuspended = false;
    for (let passes = 0; decideSchedule(this.#world()).kind === 'spawn' || this.#isBehind(); passes++) {
      if (passes > 20_000) throw new Error('the schedule never catches up');
      this.#pass('no');
      this.#endOne();
      this.#archiveOne();
    }
  }

  /** Windows that have ended by the clock as it is now. */
  get due(): number {
    return Math.floor((this.#nowMs - Date.parse(this.#start)) / HOUR_MS / this.#intervalHours);
  }

  #isBehind(): boolean {
    const decision = decideSchedule(this.#world());
    return decision.kind === 'rest' && decision.why === 'behind';
  }

  #schedule(): BulkExport {
    return {
      metadata: { name: 's', namespace: 'ws', uid: ID, generation: 1, creationTimestamp: this.#start },
      spec: {
        destinationRef: { name: 'local' },
        tracingProject: { id: 'project' },
        startTime: this.#start,
        intervalHours: this.#intervalHours,
        format: 'parquet',
        formatVersion: 'v1',
        compression: 'zstd',
        cancel: false,
        suspend: this.#isSuspended,
      },
      status: this.#status,
    } as unknown as BulkExport;
  }

  #world(children: readonly BulkExport[] = [...this.#server.values()]): ScheduleWorld {
    return {
      schedule: this.#schedule(),
      workspace: { spec: { plan: 'enterprise', tenantId: 't' } } as Workspace,
      destination: {
        metadata: { name: 'local', generation: 1 },
        status: { observedGeneration: 1, conditions: [{ type: 'Validated', status: 'True' }] },
      } as unknown as BulkExportDestination,
      project: { id: 'project', name: 'p' },
      children,
      archivedUntil: this.#archivedUntil,
      now: new Date(this.#nowMs),
      maxUnfinished: MAX_UNFINISHED,
    };
  }

  /** One pass in the order of the reconciler: observe, decide, report, act. */
  #pass(dies: 'no' | 'before report' | 'before create' | 'after create'): void {
    const world = this.#world(this.#stale);
    this.#stale = undefined;
    const decision = decideSchedule(world);
    if (dies === 'before report') return;
    // a status that was computed from an older object is refused by the server, and the cache shows our own writes
    this.#status = summarizeSchedule(world, decision);
    if (dies === 'before create' || decision.kind !== 'spawn') return;
    const child = buildChild(world.schedule, decision.window, decision.projectId);
    if (this.#server.has(child.metadata.name)) return;
    this.#server.set(child.metadata.name, {
      ...child,
      metadata: { ...child.metadata, creationTimestamp: new Date(this.#nowMs).toISOString() },
    });
    this.made.push({
      start: time(child.spec.startTime),
      end: time(child.spec.endTime),
      at: instantOf(new Date(this.#nowMs)),
    });
    this.#expectLateBegin(child);
    if (dies === 'after create') return;
    this.#pass('no');
  }

  /** A child waits by the database's clock until ten minutes after its end, whatever its creation time says. */
  #expectLateBegin(child: BulkExport): void {
    const end = time(child.spec.endTime);
    const at = (now: Instant) =>
      decideExport({
        ...this.#world(),
        bulkExport: {
          ...child,
          metadata: { ...child.metadata, creationTimestamp: '2099-01-01T00:00:00Z' },
        },
        project: { id: 'project' } as never,
        runs: [],
        hasWorker: false,
        siblings: [this.#schedule()],
        now: new Date(Number(now / 1000n)),
        limits: { ...DEFAULT_EXPORT_LIMITS, concurrentExportsPerWorkspace: 1 },
      }).kind;
    expect([at(end + SETTLE_MICROS - 1000n), at(end + SETTLE_MICROS)]).toEqual(['wait', 'run']);
  }

  #endOne(): void {
    const running = [...this.#server.values()].find(({ status }) => !status);
    if (running)
      this.#server.set(running.metadata.name, {
        ...running,
        status: { conditions: [{ type: 'Completed', status: 'True' } as never] },
      });
  }

  #archiveOne(): void {
    const ended = [...this.#server.values()].find(({ status }) => status);
    if (!ended) return;
    const end = time(ended.spec.endTime);
    if (this.#archivedUntil === undefined || end > this.#archivedUntil) this.#archivedUntil = end;
    this.#server.delete(ended.metadata.name);
  }

  /** Deletes by hand an export that a pass has seen: the status is the only record left of it. */
  #deleteOne(): void {
    const first = [...this.#server.values()].find(
      ({ spec }) => time(spec.endTime) <= time(this.#status.spawnedUntil),
    );
    if (first && this.#server.size > 1) this.#server.delete(first.metadata.name);
  }
}

describe('simulated schedules', () => {
  it('cover every window once, in order and never early, through outages, crashes and clock steps', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 59_999_999 }),
        fc.integer({ min: 1, max: 168 }),
        fc.array(step, { minLength: 10, maxLength: 60 }),
        (offset, intervalHours, steps) => {
          const start = formatInstant(time('2026-01-01T00:00:00Z') + BigInt(offset) * 1_000n, 'if-any');
          const simulation = new Simulation(start, intervalHours);
          for (const one of steps) simulation.perform(one);
          simulation.settle();
          const { made } = simulation;
          let until = time(start);
          for (const { start: from, end, at } of made) {
            expect(from).toBe(until);
            expect(end - from).toBe(BigInt(intervalHours) * 3_600_000_000n);
            expect(at >= end).toBe(true);
            until = end;
          }
          expect(made.length).toBeGreaterThanOrEqual(simulation.due);
        },
      ),
      { numRuns: 1_000 },
    );
  });
});
