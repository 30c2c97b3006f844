import { type AgentRevision, CONDITION, findCondition, isConditionTrue } from '#lib/resources';
import type { Served } from './world.js';

/** The Deployments of a rollout by the revision that they were made for. */
export type Workloads<T> = ReadonlyMap<string, T>;

/**
 * Gives every Deployment to one revision; answers for each revision the one whose Deployment runs it.
 *
 * A repeat of an earlier revision runs on the Deployment that was kept for it, so that a rollback needs no
 * new objects. In this order: the revision that serves has the Deployment that the Service selects; the
 * others, newest first, have their own, or borrow that of the revision they repeat. A repeat of the serving
 * revision gets its own, since it is meant to start new pods. A repeat that fails or is superseded gives the
 * Deployment back.
 * @param revisions revisions by number, oldest first
 * @param newest name of the newest revision of the deployment, whichever listener runs it
 */
export function assignWorkloads(
  revisions: readonly AgentRevision[],
  workloads: Workloads<unknown>,
  served: Served | undefined,
  newest: string | undefined,
): ReadonlyMap<string, AgentRevision> {
  const byName = new Map(revisions.map((revision) => [revision.metadata.name, revision]));
  const taken = new Set(served ? [served.workload] : []);
  const origins = new Map<string, AgentRevision>();
  for (const revision of revisions.toReversed()) {
    const { name } = revision.metadata;
    if (name === served?.revision) {
      origins.set(name, byName.get(served.workload) ?? revision);
      continue;
    }
    const kept = byName.get(revision.spec.redeployOf ?? '');
    const borrows =
      kept !== undefined &&
      !workloads.has(name) &&
      workloads.has(kept.metadata.name) &&
      !taken.has(kept.metadata.name) &&
      findCondition(kept.status?.conditions, CONDITION.active) !== undefined &&
      mayBorrow(revision, newest);
    const origin = borrows ? kept : revision;
    if (workloads.has(origin.metadata.name)) taken.add(origin.metadata.name);
    origins.set(name, origin);
  }
  return origins;
}

/** A revision that is to be run, or once was. */
function mayBorrow({ metadata, status }: AgentRevision, newest: string | undefined): boolean {
  const conditions = status?.conditions;
  return (
    isConditionTrue(conditions, CONDITION.built) &&
    !isConditionTrue(conditions, CONDITION.failed) &&
    !isConditionTrue(conditions, CONDITION.superseded) &&
    (metadata.name === newest || findCondition(conditions, CONDITION.active) !== undefined)
  );
}
