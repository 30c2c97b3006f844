import { parseJson } from '#lib/json';
import { ANNOTATION, type BulkExportRun, LABEL, type ObjectMeta, type Pod } from '#lib/resources';

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
  /** Selects the workers of its export, in every namespace: they run in the platform's own. */
  readonly labelSelector: string;
  /** Returns true when a worker of the export has the run. */
  readonly includes: (pod: Pod) => boolean;
  /**
   * Note with the run that the worker is named after, where that is another one; undefined for the run's own.
   */
  readonly noteOf: (pod: Pod) => string | undefined;
}

/** Pods that have the logs of a run. */
export function podsOfRun({ metadata: { name, namespace = '', uid = '' }, spec }: BulkExportRun): RunPods {
  const ownerOf = (pod: Pod): string | undefined => pod.metadata.labels?.[LABEL.exportRun];
  return {
    labelSelector: `${LABEL.export}=${spec.exportName},${LABEL.exportNamespace}=${namespace}`,
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
