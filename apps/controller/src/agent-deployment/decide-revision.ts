import {
  type AgentDeployment,
  type AgentRevision,
  ANNOTATION,
  CONDITION,
  findCondition,
  idOf,
  isConditionTrue,
  REASON,
} from '#lib/resources';
import { derivedUuid } from '../identity/derived-uuid.js';

/** Number and id of a revision that is to be made. */
interface NewRevision {
  readonly number: number;
  readonly id: string;
}

export type RevisionDecision =
  | { readonly kind: 'none' }
  /** From the present spec. */
  | ({ readonly kind: 'make' } & NewRevision)
  /** From the snapshot of an earlier revision. */
  | ({ readonly kind: 'repeat'; readonly of: AgentRevision } & NewRevision)
  /** The request cannot be met and never will be. */
  | {
      readonly kind: 'reject-request';
      readonly requestId: string;
      readonly reason: string;
      readonly message: string;
    };

/**
 * Whether a revision must be made. A request comes before the hash, and what it makes carries the present hash, so that
 * a redeploy of an old snapshot is not followed by a revision of the present spec.
 * @param revisions by number, oldest first
 */
export function decideRevision(
  deployment: AgentDeployment,
  revisions: readonly AgentRevision[],
  hash: string,
): RevisionDecision {
  const { revisionRequest, suspend } = deployment.spec;
  if (suspend) return { kind: 'none' };
  const latest = revisions.at(-1);
  const number = (latest?.spec.number ?? 0) + 1;
  if (revisionRequest && !isHandled(deployment, revisions)) {
    const id = revisionRequest.id.toLowerCase();
    const from = revisionRequest.fromRevisionId?.toLowerCase();
    if (from === undefined) return { kind: 'make', number, id };
    const of = revisions.find((revision) => idOf(revision) === from);
    if (of) return { kind: 'repeat', of, number, id };
    return {
      kind: 'reject-request',
      requestId: id,
      reason: REASON.revisionMissing,
      message: `revision ${from} cannot be deployed again: it does not exist (any more)`,
    };
  }
  if (latest?.metadata.annotations?.[ANNOTATION.revisionHash] === hash) return { kind: 'none' };
  return { kind: 'make', number, id: derivedUuid(idOf(deployment) ?? '', number) };
}

/** By the status, or, when the controller ended between two writes, by the revision itself. */
export function isHandled(deployment: AgentDeployment, revisions: readonly AgentRevision[]): boolean {
  const id = deployment.spec.revisionRequest?.id.toLowerCase();
  if (id === undefined) return true;
  return (
    deployment.status?.handledRevisionRequestId?.toLowerCase() === id ||
    revisions.some((revision) => idOf(revision) === id)
  );
}

/**
 * Revisions that need not be kept: the oldest beyond the limit, never the newest or the one that serves. Only those whose
 * end the listener has put on record, which is final: between moving the Service and saying so it may be a while, and
 * what nobody has spoken of yet may be what serves.
 * @param served name of the revision that the Service points to
 */
export function revisionsToForget(
  revisions: readonly AgentRevision[],
  limit: number,
  served: string | undefined,
): readonly AgentRevision[] {
  const others = revisions.filter(
    (revision) =>
      revision !== revisions.at(-1) && revision.status?.serving !== true && revision.metadata.name !== served,
  );
  return others.slice(0, Math.max(0, others.length - limit)).filter(hasEnded);
}

function hasEnded({ status }: AgentRevision): boolean {
  const conditions = status?.conditions;
  return (
    isConditionTrue(conditions, CONDITION.failed) ||
    isConditionTrue(conditions, CONDITION.superseded) ||
    findCondition(conditions, CONDITION.active)?.status === 'False'
  );
}
