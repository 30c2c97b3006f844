import { type BulkExport, type BulkExportRunSpec, exportWireStatus, REASON } from '#lib/resources';
import { type ContinuationProblem, findOtherWindow } from './continuation.js';

/** Objects on which an export of the late runs of another one depends. */
export interface LateRunsWorld {
  /** Id of the export whose late runs are asked for. */
  readonly id: string;
  /** That export; undefined when the workspace has none of that id. */
  readonly former: BulkExport | undefined;
  /** Its runs. */
  readonly runs: readonly { readonly spec: Partial<BulkExportRunSpec> }[];
  /** The export of late runs that is decided; undefined while it is only asked for. */
  readonly late: BulkExport | undefined;
}

/**
 * Reason why the late runs of an export cannot be counted or exported, in the words of every interface. The
 * marks of its runs are checked later, run by run.
 */
export function findLateRunsProblem(world: LateRunsWorld): ContinuationProblem | undefined {
  const { id, former, runs, late } = world;
  const refused = (why: string, reason: string = REASON.lateRunsUnknown): ContinuationProblem => ({
    reason,
    message: `finding the late runs of export ${id} failed: ${why}`,
  });
  if (!former)
    return refused('the workspace has no export of this id; make a new export', REASON.predecessorMissing);
  const status = exportWireStatus(former);
  if (status !== 'COMPLETED')
    return refused(`it is ${status}; only an export that is COMPLETED has late runs`);
  if (runs.length === 0) return refused('its runs are not kept any more; make a new export of its window');
  if (!late) return undefined;
  const changed =
    (late.spec.filter ?? '') === (former.spec.filter ?? '') ? findOtherWindow(late.spec, former) : 'filter';
  return changed === undefined
    ? undefined
    : refused(`spec.${changed} is another than that of the export; give it the same, or make a new export`);
}
