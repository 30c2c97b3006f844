import type { Window } from '#lib/export-plan';
import { API_VERSION, type BulkExport, type BulkExportSpec, idOf, LABEL, MANAGED_BY } from '#lib/resources';
import { formatInstant } from '#lib/time';

/** An export's name is at most 54 characters long: those of its runs follow from it. */
const MAX_STEM = 36;
const ID_DIGITS = 6;
const REQUEST_DIGITS = 7;

/**
 * The name of the export of a window: the same whenever it is asked for, so that a controller that dies after it made the
 * export, or before it noted that, makes no second one. The digits of the schedule's id keep those of a former schedule
 * of the same name apart. Windows of one schedule begin in different hours.
 */
export function childName(schedule: BulkExport, { start }: Window, requestId?: string): string {
  const digits = (id: string, many: number) => id.replaceAll('-', '').slice(0, many).toLowerCase();
  const hour = formatInstant(start).slice(0, 13).replaceAll(/[-T]/g, '');
  const last = requestId === undefined ? hour : `now${digits(requestId, REQUEST_DIGITS)}`;
  return `${schedule.metadata.name.slice(0, MAX_STEM)}-${digits(idOf(schedule) ?? '', ID_DIGITS)}-${last}`;
}

/**
 * The export of one window. It carries everything that says what is exported and where to. Its schedule is linked and
 * does not own it: deleting or cancelling the schedule leaves it.
 */
export function buildChild(
  schedule: BulkExport,
  window: Window,
  projectId: string,
  requestId?: string,
): Omit<BulkExport, 'status'> {
  const { namespace, name } = schedule.metadata;
  const { intervalHours: _interval, runRequest: _request, ...carried } = schedule.spec;
  const spec: BulkExportSpec = {
    ...carried,
    tracingProject: { id: projectId },
    startTime: formatInstant(window.start, 'if-any'),
    endTime: formatInstant(window.end, 'if-any'),
    cancel: false,
    suspend: false,
    sourceExport: {
      id: idOf(schedule) ?? '',
      ...(requestId === undefined ? {} : { runRequestId: requestId }),
    },
  };
  return {
    apiVersion: API_VERSION,
    kind: 'BulkExport',
    metadata: {
      name: childName(schedule, window, requestId),
      ...(namespace === undefined ? {} : { namespace }),
      labels: { [LABEL.sourceExport]: name, [LABEL.managedBy]: MANAGED_BY },
    },
    spec,
  };
}
