import { type AgentRevision, CONDITION, findCondition, isConditionTrue } from '#lib/resources';

/**
 * Revisions beyond the history limit, oldest first: never the newest, the one that serves, or one that a kept revision
 * repeats, since that one may run its Deployment. Only revisions whose end the listener has reported, which is final:
 * the Service moves a moment before that is reported.
 */
export function revisionsToForget(
  revisions: readonly AgentRevision[],
  limit: number,
): readonly AgentRevision[] {
  const others = revisions.filter(
    (revision) => revision !== revisions.at(-1) && revision.status?.serving !== true,
  );
  const surplus = new Set(others.slice(0, Math.max(0, others.length - limit)).filter(hasEnded));
  const repeated = new Set(
    revisions.filter((revision) => !surplus.has(revision)).map(({ spec }) => spec.redeployOf),
  );
  return [...surplus].filter(({ metadata }) => !repeated.has(metadata.name));
}

function hasEnded({ status }: AgentRevision): boolean {
  const conditions = status?.conditions;
  return (
    isConditionTrue(conditions, CONDITION.failed) ||
    isConditionTrue(conditions, CONDITION.superseded) ||
    findCondition(conditions, CONDITION.active)?.status === 'False'
  );
}
