import { PublicError } from '#lib/errors';
import type { AgentRevision } from '#lib/resources';

/** Revisions are numbered without a gap as they are made, and moved to the archive past the limit of the history. */
export function removedOf(held: readonly AgentRevision[]): number {
  return Math.max(0, (held[0]?.spec.number ?? 0) - held.length);
}

/** @param lost revisions whose ids are kept nowhere: this may be one of them */
export function revisionNotFound(id: string, lost: number): PublicError {
  const because =
    lost === 0
      ? ''
      : `; ${lost} earlier ${lost === 1 ? 'revision is' : 'revisions are'} not kept any more, past the limit of the archive or from before there was one`;
  return new PublicError('not_found', `Revision with ID ${id} not found${because}`);
}
