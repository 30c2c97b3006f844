import {
  type BulkExport,
  exportState,
  exportWireStatus,
  idOf,
  isFinishedExport,
  LABEL,
  RESOURCES,
} from '#lib/resources';
import { deletion, type RowAction, specChange } from './common-actions.js';
import { AGE, exportRank, minute, NAME, PROGRESS_COLUMNS } from './export-cells.js';
import { type Column, defineView, leadsTo, type View } from './view.js';

const REF = RESOURCES.BulkExport;

function isSchedule({ spec }: BulkExport): boolean {
  return spec.intervalHours !== undefined;
}

function ended(bulkExport: BulkExport): string | undefined {
  const status = exportWireStatus(bulkExport);
  return isFinishedExport(status) ? `it is ${status}` : undefined;
}

function projectOf({ status, spec }: BulkExport): string {
  return status?.tracingProjectName ?? spec.tracingProject.name ?? spec.tracingProject.id ?? '';
}

const CHANGES: readonly RowAction<BulkExport>[] = [
  specChange<BulkExport>(REF, {
    key: 's',
    word: 'pause',
    about: 'start no further days; of a schedule, make no exports',
    refusal: (one) => ended(one) ?? (one.spec.suspend ? 'it is paused already' : undefined),
    spec: () => ({ suspend: true }),
    done: 'paused',
  }),
  specChange<BulkExport>(REF, {
    key: 'u',
    word: 'resume',
    about: 'go on with a paused export or schedule',
    refusal: (one) => ended(one) ?? (one.spec.suspend ? undefined : 'it is not paused'),
    spec: () => ({ suspend: false }),
    done: 'resumed',
  }),
  specChange<BulkExport>(REF, {
    key: 'ctrl-k',
    word: 'cancel',
    about: 'end it for good; its files stay',
    danger: 'it cannot be started again',
    refusal: ended,
    spec: () => ({ cancel: true }),
    done: 'cancelled',
  }),
  deletion(REF, 'its runs go with it; files in the bucket stay'),
];

const COMMON: Pick<View<BulkExport>, 'source' | 'state' | 'fields'> = {
  source: { kind: 'kube', ref: REF },
  state: exportState,
  fields: {
    id: (one) => idOf(one),
    schedule: ({ metadata }) => metadata.labels?.[LABEL.sourceExport],
    destination: ({ spec }) => spec.destinationRef.name,
    status: (one) => exportWireStatus(one),
  },
};

const EXPORT_COLUMNS: readonly Column<BulkExport>[] = [
  NAME,
  ...PROGRESS_COLUMNS,
  {
    heading: 'DAYS',
    cell: ({ status }) =>
      status?.runs === undefined ? '' : `${status.runs.completed ?? 0}/${status.runs.total}`,
    align: 'right',
  },
  AGE,
  { heading: 'PROJECT', cell: projectOf },
  { heading: 'FROM', cell: ({ status }) => minute(status?.startTime), isWide: true },
  { heading: 'TO', cell: ({ status }) => minute(status?.endTime), isWide: true },
  { heading: 'DESTINATION', cell: ({ spec }) => spec.destinationRef.name, isWide: true },
  { heading: 'FORMAT', cell: ({ spec }) => `${spec.format} ${spec.compression}`, isWide: true },
];

export const EXPORTS = defineView<BulkExport>({
  ...COMMON,
  name: 'exports',
  aliases: ['export', 'bx', 'bulkexports', 'bulkexport'],
  about: 'bulk exports, what runs first',
  isOf: (one) => !isSchedule(one),
  columns: EXPORT_COLUMNS,
  order: exportRank,
  enter: leadsTo('days', 'export'),
  actions: [
    {
      key: 'r',
      word: 'retry',
      about: 'continue an export that failed or ran out of time: keep its files, export the rest',
      right: { verb: 'create', ref: REF },
      refusal: (one) =>
        ['FAILED', 'TIMEDOUT'].includes(exportWireStatus(one)) ? undefined : 'it did not fail',
      perform: async (one, { rest }) => {
        if (!rest)
          throw new Error('continuing an export needs REST: start the dashboard with --data or --context');
        await rest.request('POST', `/api/v1/bulk-exports/${idOf(one) ?? ''}/continue`);
        return `${one.metadata.name} is continued by a new export`;
      },
    },
    ...CHANGES,
  ],
  hint: 'none yet: "agentplane export create --project NAME" makes one',
});

const SCHEDULE_COLUMNS: readonly Column<BulkExport>[] = [
  NAME,
  {
    heading: 'EVERY',
    cell: ({ spec }) => `${spec.intervalHours ?? ''}h`,
    rank: ({ spec }) => spec.intervalHours ?? 0,
    align: 'right',
  },
  { heading: 'NEXT', cell: ({ status }) => minute(status?.nextSpawn) },
  { heading: 'DONE UNTIL', cell: ({ status }) => minute(status?.spawnedUntil) },
  {
    heading: 'BEHIND',
    cell: ({ status }) => String(status?.windowsBehind ?? 0),
    rank: ({ status }) => -(status?.windowsBehind ?? 0),
    align: 'right',
  },
  {
    heading: 'OPEN',
    cell: ({ status }) => String(status?.unfinishedExports ?? 0),
    rank: ({ status }) => -(status?.unfinishedExports ?? 0),
    align: 'right',
  },
  AGE,
  { heading: 'PROJECT', cell: projectOf },
  { heading: 'DESTINATION', cell: ({ spec }) => spec.destinationRef.name, isWide: true },
];

export const SCHEDULES = defineView<BulkExport>({
  ...COMMON,
  name: 'schedules',
  aliases: ['schedule', 'sched'],
  about: 'exports that repeat: next window, and how far behind',
  isOf: isSchedule,
  columns: SCHEDULE_COLUMNS,
  enter: leadsTo('exports', LABEL.sourceExport),
  actions: [
    specChange<BulkExport>(REF, {
      key: 'r',
      word: 'run now',
      about: 'make one more export, of the open window up to now',
      refusal: ended,
      spec: (_one, newId) => ({ runRequest: { id: newId() } }),
      done: 'makes an export now',
    }),
    ...CHANGES,
  ],
  hint: 'none yet: an export with intervalHours is one',
});
