import { randomUUID } from 'node:crypto';
import { PublicError } from '#lib/errors';
import {
  type BulkExport,
  type BulkExportDestination,
  type BulkExportSpec,
  exportWireStatus,
  isDeleting,
  isFinishedExport,
} from '#lib/resources';
import type { ResourceHome } from '../kubernetes/resource-home.js';
import type { PatchExportRequest } from './export-request.js';
import { wrongField } from '../wire/request-pipe.js';

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

const ONE_OF = 'Give exactly one of status, paused, run_now, bulk_export_destination_id';

/** The way in which a change is asked for. */
interface ChangeManner {
  /** True for a body without any member. */
  readonly isEmpty: boolean;
  /** True for an export in the words of LangSmith: to cancel one that has ended is no error then. */
  readonly isVendors: boolean;
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/**
 * Change that a PATCH makes to an export; undefined when the export is already so.
 * @throws PublicError invalid for a body with none or several of the fields, bad_request for an export that
 * cannot, not_found for the destination
 */
export function changeOf(
  bulkExport: BulkExport,
  { isEmpty, isVendors, ...request }: PatchExportRequest & ChangeManner,
  destinations: Pick<ResourceHome<BulkExportDestination>, 'find'>,
): Partial<BulkExportSpec> | undefined {
  // an empty body is the vendor's for a cancellation
  const {
    status: wanted = isVendors && isEmpty ? 'CANCELLED' : undefined,
    paused,
    run_now: runNow,
    bulk_export_destination_id: destinationId,
  } = request;
  if ([wanted, paused, runNow, destinationId].filter(isGiven).length !== 1)
    throw wrongField(['body'], ONE_OF);
  const status = exportWireStatus(bulkExport);
  if (isGiven(wanted) && (status === 'CANCELLED' || (isVendors && isFinishedExport(status))))
    return undefined;
  if (isFinishedExport(status))
    throw new PublicError('bad_request', `The export is ${status} and cannot be ${wordOf(request)}`);
  if (isGiven(wanted)) return { cancel: true };
  if (typeof destinationId === 'string') return moveOf(bulkExport, destinationId, destinations);
  if (typeof paused === 'boolean')
    return bulkExport.spec.suspend === paused ? undefined : { suspend: paused };
  return runNow === true ? runOf(bulkExport) : undefined;
}

function wordOf({ status, paused, run_now: runNow }: PatchExportRequest): string {
  if (isGiven(status)) return 'cancelled';
  if (isGiven(paused)) return 'paused or resumed';
  return isGiven(runNow) ? 'run now' : 'given another destination';
}

/** Exports that a schedule has made stay where they are. */
function moveOf(
  { metadata: { namespace = '' }, spec }: BulkExport,
  destinationId: string,
  destinations: Pick<ResourceHome<BulkExportDestination>, 'find'>,
): Partial<BulkExportSpec> | undefined {
  if (spec.intervalHours === undefined)
    throw new PublicError(
      'bad_request',
      'Only a schedule can be given another destination; the export has no interval_hours',
    );
  const { name } = findDestination(destinations, namespace, destinationId).metadata;
  return name === spec.destinationRef.name ? undefined : { destinationRef: { name } };
}

function runOf({ spec }: BulkExport): Partial<BulkExportSpec> {
  if (spec.intervalHours === undefined)
    throw new PublicError('bad_request', 'Only a schedule can be run now; the export has no interval_hours');
  return { runRequest: { id: randomUUID() } };
}
