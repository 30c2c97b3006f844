import { PublicError } from '#lib/errors';
import { type BulkExportDestination, isDeleting } from '#lib/resources';
import type { ResourceHome } from '../kubernetes/resource-home.js';

/**
 * The destination that something is to be written to.
 * @throws PublicError not_found, the same for missing and foreign ones; conflict for one that is being deleted
 */
export function findDestination(
  destinations: Pick<ResourceHome<BulkExportDestination>, 'find'>,
  namespace: string,
  id: string,
): BulkExportDestination {
  const found = destinations.find(namespace, id.toLowerCase());
  if (!found) throw new PublicError('not_found', `Destination with ID ${id.toLowerCase()} not found`);
  if (isDeleting(found))
    throw new PublicError(
      'conflict',
      `Destination with ID ${id.toLowerCase()} is being deleted; use another one`,
    );
  return found;
}
