import { PublicError } from '#lib/errors';
import type { AgentDeployment, AgentRevision } from '#lib/resources';

/** Revisions are numbered without a gap as they are made, and removed past the limit of the history. */
export function removedOf(made: readonly AgentRevision[]): number {
  return Math.max(0, (made[0]?.spec.number ?? 0) - made.length);
}

/** Ids of removed revisions are not kept: this may be one of them. */
export function revisionNotFound(
  id: string,
  { spec: { revisionHistoryLimit } }: AgentDeployment,
  made: readonly AgentRevision[],
): PublicError {
  const removed = removedOf(made);
  const because =
    removed === 0
      ? ''
      : `; ${removed} earlier ${removed === 1 ? 'revision was' : 'revisions were'} removed, since the deployment keeps ${revisionHistoryLimit} that do not serve (revisionHistoryLimit)`;
  return new PublicError('not_found', `Revision with ID ${id} not found${because}`);
}
