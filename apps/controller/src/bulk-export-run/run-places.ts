import type { Change, Informer, Reader } from '#lib/kube';
import { type BulkExport, type BulkExportRun, keyOf, keyText, LABEL, type ObjectKey } from '#lib/resources';
import type { Clock } from '#lib/time';
import { isFinished } from '../bulk-export/export-phase.js';
import { runsOfJob, type WorkerJobs } from './attempt-workers.js';
import type { ExportRunWorld } from './decide.js';

/** True when a change was the end of an export or a run. */
export function hasEnded(change: Change<BulkExport> | Change<BulkExportRun>): boolean {
  if (change.kind === 'deleted') return true;
  return change.kind === 'changed' && isFinished(change.object) && !isFinished(change.before);
}

/** The run that may take the place of one that has ended: the first of its export that waits, and for no worker that has it. */
export function nextInLine(
  run: BulkExportRun,
  exports: Pick<Reader<BulkExport>, 'find'>,
  runs: Pick<Reader<BulkExportRun>, 'ownedBy'>,
  isTaken: (run: BulkExportRun) => boolean,
): readonly ObjectKey[] {
  const { namespace = '' } = run.metadata;
  const bulkExport = exports.find({ namespace, name: run.spec.exportName });
  if (!bulkExport) return [];
  const waiting = runs
    .ownedBy(bulkExport)
    .filter((one) => !isFinished(one) && (one.status?.attempt ?? 0) === 0 && !isTaken(one))
    .sort((a, b) => a.spec.startTime.localeCompare(b.spec.startTime));
  return waiting.slice(0, 1).map((one) => keyOf(one));
}

/** A waiting run asks again every three seconds; one that does not has ended, or waits for something else. */
const LOOKS_WITHIN_MS = 10_000;

interface Waiting {
  readonly key: ObjectKey;
  readonly lookedMs: number;
}

/**
 * Workspaces whose runs wait for a place of the platform, in order: those with fewer runs at work come first,
 * among equal ones the one served longest ago. Exports of one workspace have a queue of the same kind, in
 * which the name of the export is the namespace. Kept in memory: after a restart a waiting run is queued
 * again when it next asks.
 */
export class WorkspaceLine {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #waiting = new Map<string, Waiting>();
  /** Number of the last service of a workspace. */
  readonly #served = new Map<string, number>();
  #turn = 0;

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  /** A run of the workspace has found no place. */
  wait(key: ObjectKey): void {
    this.#waiting.set(key.namespace ?? '', { key, lookedMs: this.#clock.monotonicMs() });
  }

  /** The run waits for no place, or not for a place alone; others of its workspace join again with their next look. */
  leave(key: ObjectKey): void {
    const { namespace = '' } = key;
    const waiting = this.#waiting.get(namespace);
    if (waiting && keyText(waiting.key) === keyText(key)) this.#waiting.delete(namespace);
  }

  /** A run of the workspace has begun. */
  begin(namespace: string): void {
    this.#waiting.delete(namespace);
    this.#served.set(namespace, ++this.#turn);
  }

  /** Number of other workspaces ahead of this one. @param atWork runs that a workspace has at work */
  ahead(namespace: string, atWork: (namespace: string) => number): number {
    this.#forget();
    return [...this.#waiting.keys()].filter(
      (other) => other !== namespace && this.#isBefore(other, namespace, atWork),
    ).length;
  }

  /** The run that looks first when a place becomes free. */
  first(atWork: (namespace: string) => number): ObjectKey | undefined {
    this.#forget();
    const [first] = [...this.#waiting.keys()].sort((a, b) => (this.#isBefore(a, b, atWork) ? -1 : 1));
    return first === undefined ? undefined : this.#waiting.get(first)?.key;
  }

  #isBefore(a: string, b: string, atWork: (namespace: string) => number): boolean {
    const more = atWork(a) - atWork(b) || (this.#served.get(a) ?? 0) - (this.#served.get(b) ?? 0);
    return more < 0 || (more === 0 && a < b);
  }

  #forget(): void {
    const now = this.#clock.monotonicMs();
    for (const [namespace, { lookedMs }] of this.#waiting)
      if (now - lookedMs > LOOKS_WITHIN_MS) this.#waiting.delete(namespace);
    // forget workspaces that never come again: a service before the last thousand counts like none
    for (const [namespace, turn] of this.#served)
      if (turn < this.#turn - 1_000) this.#served.delete(namespace);
  }
}

/** A key that is no name of a namespace. */
const ALL = '/';

/**
 * Key of a run in the queue of exports: the export has the part that a workspace has in the queue of
 * workspaces.
 */
function turnOf({ metadata: { name }, spec }: BulkExportRun): ObjectKey {
  return { namespace: spec.exportName, name };
}

/**
 * The places of runs among the unfinished ones of their export, by day. An export may have thousands, and each asks for
 * its place at every look: they are put in order once, until one of them changes.
 */
export class RunPlaces {
  /** Begins of the unfinished runs, in order, by the uid of their export. */
  readonly #begins = new Map<string, readonly string[]>();
  /** Runs at work, by namespace, and by export as `turnOf` names it. */
  #atWork: ReadonlyMap<string, number> | undefined;

  /** Exports of a namespace whose runs wait for a place of the platform, in rotation as workspaces are. */
  readonly #exportLines = new Map<string, WorkspaceLine>();

  constructor(
    private readonly runs: Pick<Informer<BulkExportRun>, 'on' | 'list' | 'ownedBy'>,
    private readonly workerJobs: Pick<WorkerJobs, 'onChange' | 'shared'>,
    private readonly line: WorkspaceLine,
    private readonly clock: Pick<Clock, 'monotonicMs'>,
  ) {
    workerJobs.onChange(() => (this.#atWork = undefined));
    runs.on(({ object: { metadata } }) => {
      this.#atWork = undefined;
      for (const { uid } of metadata.ownerReferences ?? []) this.#begins.delete(uid);
    });
  }

  /** Number of unfinished runs of the export that begin before this one, from 0. */
  of(run: BulkExportRun, bulkExport: BulkExport): number {
    const begins = this.#beginsOf(bulkExport);
    let [low, high] = [0, begins.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((begins[middle] ?? '') < run.spec.startTime) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** A run has found no place of the platform. */
  wait(run: BulkExportRun): void {
    this.line.wait(keyOf(run));
    this.#exportLine(run).wait(turnOf(run));
  }

  /** A run waits for no place of the platform, or not for that alone. */
  leave(run: BulkExportRun): void {
    this.line.leave(keyOf(run));
    this.#exportLine(run).leave(turnOf(run));
  }

  /** A run has begun. */
  begin({ metadata: { namespace = '' }, spec }: BulkExportRun): void {
    this.line.begin(namespace);
    this.#exportLines.get(namespace)?.begin(spec.exportName);
  }

  /**
   * Number of runs that have begun and not ended, of all exports and of those of the namespace. A worker of
   * several runs counts once.
   */
  atWork(run: BulkExportRun): ExportRunWorld['atWork'] {
    const { namespace = '' } = run.metadata;
    const counts = (this.#atWork ??= this.#countAtWork());
    return {
      all: counts.get(ALL) ?? 0,
      ofWorkspace: this.#ofWorkspace(namespace),
      ahead: this.line.ahead(namespace, this.#ofWorkspace),
      exportsAhead: this.#exportLine(run).ahead(run.spec.exportName, this.#ofExport(namespace)),
    };
  }

  /** The run that may take a place of the platform that has become free. */
  nextOfPlatform(): readonly ObjectKey[] {
    const first = this.line.first(this.#ofWorkspace);
    if (!first) return [];
    const { namespace = '' } = first;
    const ofWorkspace = this.#exportLines.get(namespace)?.first(this.#ofExport(namespace));
    return [ofWorkspace ? { namespace, name: ofWorkspace.name } : first];
  }

  readonly #ofWorkspace = (namespace: string): number => {
    const counts = (this.#atWork ??= this.#countAtWork());
    return counts.get(namespace) ?? 0;
  };

  #ofExport(namespace: string): (exportName: string) => number {
    const counts = (this.#atWork ??= this.#countAtWork());
    return (exportName) => counts.get(`${namespace}/${exportName}`) ?? 0;
  }

  #exportLine({ metadata: { namespace = '' } }: BulkExportRun): WorkspaceLine {
    const line = this.#exportLines.get(namespace) ?? new WorkspaceLine(this.clock);
    this.#exportLines.set(namespace, line);
    return line;
  }

  #countAtWork(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    const add = (namespace = '', exportName = ''): void => {
      for (const counted of [ALL, namespace, `${namespace}/${exportName}`])
        counts.set(counted, (counts.get(counted) ?? 0) + 1);
    };
    const busy = new Set<string>();
    for (const run of this.runs.list()) {
      if ((run.status?.attempt ?? 0) === 0 || isFinished(run)) continue;
      busy.add(keyText(keyOf(run)));
      add(run.metadata.namespace, run.spec.exportName);
    }
    // between two of its runs, or before the status of the next one says that it has begun
    for (const job of this.workerJobs.shared()) {
      const runs = runsOfJob(job);
      if (!runs.some((key) => busy.has(keyText(key))))
        add(runs[0]?.namespace, job.metadata.labels?.[LABEL.export]);
    }
    return counts;
  }

  #beginsOf(bulkExport: BulkExport): readonly string[] {
    const { uid = '' } = bulkExport.metadata;
    const known = this.#begins.get(uid);
    if (known) return known;
    const unfinished = this.runs.ownedBy(bulkExport).filter((run) => !isFinished(run));
    const begins = unfinished.map(({ spec }) => spec.startTime).sort();
    // without runs nothing would ever take it out again
    if (begins.length > 0) this.#begins.set(uid, begins);
    return begins;
  }
}
