import type { Informer } from '#lib/kube';
import { type BulkExport, type BulkExportRun, keyOf, keyText, LABEL, type ObjectKey } from '#lib/resources';
import type { Clock } from '#lib/time';
import { isFinished } from '../bulk-export/export-phase.js';
import { runsOfJob, type WorkerJobs } from './worker-jobs.js';
import { WorkspaceLine } from './workspace-line.js';
import type { ExportRunWorld } from './world.js';

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
