import {
  type BulkExport,
  type BulkExportRunSpec,
  type BulkExportSpec,
  type DestinationConfig,
  exportWireStatus,
  idOf,
  isFinishedExport,
  REASON,
} from '#lib/resources';
import { parseInstant } from '#lib/time';

/** Objects on which an export that continues another one depends. */
interface ContinuationWorld {
  /** Id of the export that is continued. */
  readonly id: string;
  /** That export; undefined when the workspace has none of that id. */
  readonly predecessor: BulkExport | undefined;
  /** Its runs; an export that was archived long ago has parts of them alone. */
  readonly runs: readonly { readonly spec: Partial<BulkExportRunSpec> }[];
  /** Present destination of that name; undefined when it was deleted. */
  readonly destination: BulkExportRunSpec['destination']['config'] | undefined;
  /** Exports that continue the same one, whatever became of them, without the one that is decided. */
  readonly others: readonly BulkExport[];
  /** The export that is decided; undefined while it is only asked for. */
  readonly continuation: BulkExport | undefined;
}

/** Reason why an export cannot be continued. */
export interface ContinuationProblem {
  readonly reason: string;
  readonly message: string;
}

const CONTINUABLE: ReadonlySet<string> = new Set(['FAILED', 'TIMEDOUT']);

/** Fields of a spec that do not decide which files an export has. */
const FREE: ReadonlySet<string> = new Set([
  'cancel',
  'suspend',
  'runRequest',
  'sourceExport',
  'continues',
  // its resolved id is compared instead
  'tracingProject',
  'startTime',
  'endTime',
  'last',
  // the webhook only receives the report on the end of the export
  'webhook',
]);

/**
 * Reason why an export cannot be continued, in the words of every interface: the api asks before it makes the
 * continuation, the controller before it begins it.
 */
export function findContinuationProblem(world: ContinuationWorld): ContinuationProblem | undefined {
  const { id, predecessor, runs, destination, continuation } = world;
  const refused = (why: string, reason: string = REASON.notContinuable): ContinuationProblem => ({
    reason,
    message: `continuing export ${id} failed: ${why}`,
  });
  if (!predecessor)
    return refused('the workspace has no export of this id; make a new export', REASON.predecessorMissing);
  const status = exportWireStatus(predecessor);
  if (!CONTINUABLE.has(status))
    return refused(`it is ${status}; only an export that is FAILED or TIMEDOUT can be continued`);
  const wroteTo = runs[0]?.spec.destination?.config;
  if (!wroteTo) return refused('it failed before its first run was made; make a new export');
  if (runs.some(({ spec }) => spec.exportId === undefined))
    return refused(
      'it was archived long ago, and what its runs had finished is not kept any more; make a new export',
    );
  const other = findOther(world);
  if (other) {
    const by = `export ${idOf(other) ?? other.metadata.name} (${exportWireStatus(other)})`;
    return refused(
      `${by} continues it already; continue that one once it has failed`,
      REASON.alreadyContinued,
    );
  }
  const name = predecessor.spec.destinationRef.name;
  if (!destination)
    return refused(
      `BulkExportDestination ${name} was deleted; create it again with the same bucket and prefix, or make a new export`,
    );
  const moved = differing(placeOf(wroteTo), placeOf(destination));
  if (moved !== undefined)
    return refused(
      `${moved} of BulkExportDestination ${name} was changed since, and its files are where it led before; make a new export`,
    );
  const changed = continuation && findChange(continuation.spec, predecessor);
  return changed === undefined
    ? undefined
    : refused(`spec.${changed} is another than that of the export; give it the same, or make a new export`);
}

/** The parts of a destination that say where its files are. */
function placeOf({
  bucketName,
  prefix,
  region,
  endpointUrl,
  includeBucketInPrefix,
}: DestinationConfig): object {
  return { bucketName, prefix, region, endpointUrl, includeBucketInPrefix };
}

/** The name of the first field that is not the same; defaults and absent fields are. */
function differing(a: object, b: object): string | undefined {
  const [one, other] = [a, b].map((object) => new Map(Object.entries(object)));
  const names = new Set([...(one?.keys() ?? []), ...(other?.keys() ?? [])]);
  const text = (value: unknown): string => JSON.stringify(value ?? '');
  return [...names].find((name) => text(one?.get(name)) !== text(other?.get(name)));
}

function findChange(spec: BulkExportSpec, predecessor: BulkExport): string | undefined {
  const fixed = (of: BulkExportSpec) =>
    Object.fromEntries(Object.entries(of).filter(([name]) => !FREE.has(name)));
  return differing(fixed(spec), fixed(predecessor.spec)) ?? findOtherWindow(spec, predecessor);
}

/**
 * `last` of the predecessor was resolved when that one was made: its window is meant, said in either way.
 * @returns the name of the field that says another one
 */
function findOtherWindow(
  { last, startTime, endTime }: BulkExportSpec,
  { spec, status }: BulkExport,
): string | undefined {
  if (last !== undefined) return last === spec.last ? undefined : 'last';
  const isSame = (a: string | undefined, b: string | undefined): boolean =>
    instant(a) !== undefined && instant(a) === instant(b);
  if (!isSame(startTime, status?.startTime)) return 'startTime';
  return isSame(endTime, status?.endTime) ? undefined : 'endTime';
}

function instant(text: string | undefined): bigint | undefined {
  return text === undefined ? undefined : parseInstant(text, { zone: 'required' });
}

/**
 * The export that continues it already. One that was cancelled, or ended before its first run was made, does
 * not count: it has adopted nothing. The older of two made at one time counts.
 */
function findOther({ others, continuation }: ContinuationWorld): BulkExport | undefined {
  return others.find((other) => {
    const status = exportWireStatus(other);
    if (status === 'CANCELLED') return false;
    if ((other.status?.runs?.total ?? 0) > 0) return true;
    return !isFinishedExport(status) && (!continuation || isBefore(other, continuation));
  });
}

function isBefore({ metadata: a }: BulkExport, { metadata: b }: BulkExport): boolean {
  const [x, y] = [a.creationTimestamp ?? '', b.creationTimestamp ?? ''];
  return x < y || (x === y && a.name < b.name);
}

/** Objects on which an export of the late runs of another one depends. */
interface LateRunsWorld {
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
