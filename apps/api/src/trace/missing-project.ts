import { PublicError } from '#lib/errors';
import type { TraceStore } from '#lib/trace-store';

/** Error for a project that does not exist, which tells whether it was deleted. */
export async function missingProject(
  { projects }: Pick<TraceStore, 'projects'>,
  tenantId: string,
  id: string,
): Promise<PublicError> {
  const deletedAt = await projects.deletedAt(tenantId, id);
  return new PublicError(
    'not_found',
    deletedAt
      ? `Session with ID ${id} was deleted at ${deletedAt.toISOString()}, with its runs`
      : `Session with ID ${id} not found`,
  );
}
