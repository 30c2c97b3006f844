import type { Informer } from '#lib/kube';
import { type BulkExport, type BulkExportRun, keyOf, keyText, type ObjectKey } from '#lib/resources';
import { isFinished } from '../bulk-export/export-phase.js';
import { runsOfJob, type WorkerJobs } from './worker-jobs.js';
import type { WorkspaceLine } from './workspace-line.js';
import type { ExportRunWorld } from './world.js';

/**
 * The places of runs among the unfinished ones of their export, by day. An export may have thousands, and each asks for
 * its place at every look: they are put in order once, until one of them changes.
 */
export class RunPlaces {
  /** When the unfinished runs begin, in order, by the uid of their export. */
  readonly #begins = new Map<string, readonly string[]>();
  /** Runs at work, by namespace. */
  #atWork: ReadonlyMap<string, number> | undefined;

  constructor(
    private readonly runs: Pick<Informer<BulkExportRun>, 'on' | 'list' | 'ownedBy'>,
    private readonly workerJobs: Pick<WorkerJobs, 'onChange' | 'shared'>,
    /** Who waits for a place of the platform. */
    readonly line: WorkspaceLine,
  ) {
    workerJobs.onChange(() => (this.#atWork = undefined));
    runs.on(({ object: { metadata } }) => {
      this.#atWork = undefined;
      for (const { uid } of metadata.ownerReferences ?? []) this.#begins.delete(uid);
    });
  }

  /** From 0: how many unfinished runs of the export begin before this one. */
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

  /** How many runs have begun and not ended, of all exports and of those of the namespace; one for a worker of several. */
  atWork(namespace: string): ExportRunWorld['atWork'] {
    const counts = (this.#atWork ??= this.#countAtWork());
    let all = 0;
    for (const count of counts.values()) all += count;
    return {
      all,
      ofWorkspace: this.#ofWorkspace(namespace),
      ahead: this.line.ahead(namespace, this.#ofWorkspace),
    };
  }

  /** The run that may take a place of the platform that has become free. */
  nextOfPlatform(): readonly ObjectKey[] {
    const first = this.line.first(this.#ofWorkspace);
    return first ? [first] : [];
  }

  readonly #ofWorkspace = (namespace: string): number => {
    const counts = (this.#atWork ??= this.#countAtWork());
    return counts.get(namespace) ?? 0;
  };

  #countAtWork(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    const add = (namespace = ''): unknown => counts.set(namespace, (counts.get(namespace) ?? 0) + 1);
    const busy = new Set<string>();
    for (const run of this.runs.list()) {
      if ((run.status?.attempt ?? 0) === 0 || isFinished(run)) continue;
      busy.add(keyText(keyOf(run)));
      add(run.metadata.namespace);
    }
    // between two of its runs, or before the status of the next one says that it has begun
    for (const job of this.workerJobs.shared()) {
      const runs = runsOfJob(job);
      if (!runs.some((key) => busy.has(keyText(key)))) add(runs[0]?.namespace);
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
