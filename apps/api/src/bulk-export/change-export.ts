import { randomUUID } from 'node:crypto';
import { PublicError } from '#lib/errors';
import { type BulkExport, type BulkExportSpec, exportWireStatus, isFinishedExport } from '#lib/resources';
import { invalid } from '../wire/request-pipe.js';
import type { PatchExportRequest } from './export-request.js';

const ONE_OF = 'Give exactly one of status, paused, run_now';

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/**
 * What a PATCH changes of an export; undefined when it is so already.
 * @throws PublicError invalid for a body with none or several of the fields, bad_request for an export that cannot
 */
export function changeOf(
  bulkExport: BulkExport,
  request: PatchExportRequest,
): Partial<BulkExportSpec> | undefined {
  const { status: wanted, paused, run_now: runNow } = request;
  if ([wanted, paused, runNow].filter(isGiven).length !== 1)
    throw invalid([{ loc: ['body'], msg: ONE_OF, type: 'value_error' }]);
  const status = exportWireStatus(bulkExport);
  if (isGiven(wanted) && status === 'CANCELLED') return undefined;
  const what = isGiven(wanted) ? 'cancelled' : isGiven(paused) ? 'paused or resumed' : 'run now';
  if (isFinishedExport(status))
    throw new PublicError('bad_request', `The export is ${status} and cannot be ${what}`);
  if (isGiven(wanted)) return { cancel: true };
  if (typeof paused === 'boolean')
    return bulkExport.spec.suspend === paused ? undefined : { suspend: paused };
  return runNow === true ? runOf(bulkExport) : undefined;
}

function runOf({ spec }: BulkExport): Partial<BulkExportSpec> {
  if (spec.intervalHours === undefined)
    throw new PublicError('bad_request', 'Only a schedule can be run now; the export has no interval_hours');
  return { runRequest: { id: randomUUID() } };
}
