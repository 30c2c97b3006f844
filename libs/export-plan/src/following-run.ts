import { isDeepStrictEqual } from 'node:util';
import { parseJson } from '#lib/json';
import {
  ANNOTATION,
  type BulkExportRun,
  type BulkExportRunSpec,
  LABEL,
  type ObjectMeta,
  type Pod,
} from '#lib/resources';

/**
 * A run that a worker takes after the one its Job is named after, always as attempt 1. It may belong to another export of the
 * workspace with the same destination.
 */
export interface FollowingRun {
  readonly runUid: string;
  /** Absent for the export of the first run. */
  readonly exportUid?: string;
  /** Members of its spec that differ from those of the first run; null for one that it does not have. */
  readonly own: Readonly<Partial<Record<string, unknown>>>;
}

const TAKE_FOR_MS = 600_000;

/**
 * Time after its start within which a worker begins further runs: the last one has nearly all of the time of
 * an attempt.
 */
export function takeForMs(runTimeoutMs: number): number {
  return Math.min(TAKE_FOR_MS, Math.floor(runTimeoutMs / 8));
}

/** Uid of the export that made a run. */
export function exportUidOf({ metadata }: Pick<BulkExportRun, 'metadata'>): string | undefined {
  return metadata.ownerReferences?.find(({ controller }) => controller)?.uid;
}

/** Facts about a run that a worker takes after its own. */
export function followingRun(first: BulkExportRun, run: BulkExportRun): FollowingRun {
  const shared = new Map<string, unknown>(Object.entries(first.spec));
  const spec = new Map<string, unknown>(Object.entries(run.spec));
  const names = [...new Set([...shared.keys(), ...spec.keys()])];
  const differing = names.filter((name) => !isDeepStrictEqual(shared.get(name), spec.get(name)));
  const exportUid = exportUidOf(run);
  return {
    runUid: run.metadata.uid ?? '',
    ...(exportUid === undefined || exportUid === exportUidOf(first) ? {} : { exportUid }),
    own: Object.fromEntries(differing.map((name) => [name, spec.get(name) ?? null])),
  };
}

/** The whole spec of a run that follows another one. */
export function specOfFollowing(first: BulkExportRunSpec, { own }: FollowingRun): BulkExportRunSpec {
  const members = Object.entries(own).map(([name, value]) => [name, value ?? undefined] as const);
  return Object.assign({ ...first }, Object.fromEntries<unknown>(members));
}

/** A run that a worker takes after the one its Job is named after. */
interface NamedRun {
  readonly name: string;
  readonly uid: string;
}

/**
 * Runs that the worker of a Job, or of its pod, takes one after the other after the one that the Job is named
 * after.
 */
export function followingRunsOf({
  metadata: { annotations },
}: {
  readonly metadata: ObjectMeta;
}): readonly NamedRun[] {
  const note = annotations?.[ANNOTATION.followingRuns];
  return note === undefined ? [] : (parseJson(note) as readonly NamedRun[]);
}

/** Pods of the workers of a run: of its own attempts, and of a worker that takes it after another run. */
interface RunPods {
  /** Selects the workers of its workspace, in every namespace: they run in the platform's own. */
  readonly labelSelector: string;
  /** Returns true when a worker has the run. */
  readonly includes: (pod: Pod) => boolean;
  /**
   * Note with the run that the worker is named after, where that is another one; undefined for the run's own.
   */
  readonly noteOf: (pod: Pod) => string | undefined;
}

/** Pods that have the logs of a run. */
export function podsOfRun({
  metadata: { name, namespace = '', uid = '' },
}: Pick<BulkExportRun, 'metadata'>): RunPods {
  const ownerOf = (pod: Pod): string | undefined => pod.metadata.labels?.[LABEL.exportRun];
  return {
    labelSelector: `${LABEL.exportRun},${LABEL.exportNamespace}=${namespace}`,
    // pods of any namespace may carry the labels, and anything in their annotations: it is searched, not parsed
    includes: (pod) =>
      ownerOf(pod) === name ||
      pod.metadata.annotations?.[ANNOTATION.followingRuns]?.includes(`"uid":"${uid}"`) === true,
    noteOf: (pod) =>
      ownerOf(pod) === name
        ? undefined
        : `BulkExportRun ${name} shares the worker of ${ownerOf(pod) ?? ''} (pod ${pod.metadata.name}): lines with "run":"${uid}" are its own`,
  };
}
