import { wantedQueueReplicas, wantedReplicas } from '#lib/manifests';
import type { Deployment } from '#lib/resources';
import type { RevisionWorld } from './world.js';

/**
 * True when every pod that should run is ready, of exactly these templates. Pods of the queue count too: runs
 * wait for them.
 */
export function isWorkloadReady({
  workload,
  queue,
  revision,
}: Pick<RevisionWorld, 'workload' | 'queue' | 'revision'>): boolean {
  const fewest = wantedQueueReplicas(revision);
  // pods beyond the fewest are more than it needs to be ready
  return (
    isAvailable(workload, wantedReplicas(revision)) && (fewest === undefined || isAvailable(queue, fewest))
  );
}

/** @param fewest pods of a Deployment that is scaled: those beyond are more than it needs to be ready */
function isAvailable(workload: Deployment | undefined, fewest = Infinity): boolean {
  const wanted = Math.min(fewest, workload?.spec.replicas ?? 1);
  const status = workload?.status;
  return (
    workload !== undefined &&
    wanted > 0 &&
    status?.observedGeneration === workload.metadata.generation &&
    (status?.updatedReplicas ?? 0) >= wanted &&
    (status?.availableReplicas ?? 0) >= wanted
  );
}
