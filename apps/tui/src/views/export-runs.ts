import { podsOfRun } from '#lib/export-plan';
import { type BulkExportRun, exportRunState, exportRunWireStatus, LABEL, RESOURCES } from '#lib/resources';
import { PROGRESS_COLUMNS } from './export-cells.js';
import { AGE, NAME } from './standard-columns.js';
import { type Column, defineView } from './view.js';

const COLUMNS: readonly Column<BulkExportRun>[] = [
  NAME,
  { heading: 'FROM', cell: ({ spec }) => spec.startTime.slice(0, 16).replace('T', ' ') },
  ...PROGRESS_COLUMNS,
  {
    heading: 'ATTEMPT',
    cell: ({ status }) => String(status?.attempt ?? ''),
    rank: ({ status }) => -(status?.attempt ?? 0),
    align: 'right',
  },
  { heading: 'FILES', cell: ({ status }) => String(status?.files ?? ''), align: 'right' },
  AGE,
  { heading: 'EXPORT', cell: ({ spec }) => spec.exportName, isWide: true },
  { heading: 'TO', cell: ({ spec }) => spec.endTime.slice(0, 16).replace('T', ' '), isWide: true },
];

export const EXPORT_RUNS = defineView<BulkExportRun>({
  name: 'days',
  aliases: ['day', 'runs', 'run', 'exportruns', 'bxr', 'bulkexportruns'],
  about: 'days of exports, with attempts and errors',
  source: { kind: 'kube', ref: RESOURCES.BulkExportRun },
  state: exportRunState,
  columns: COLUMNS,
  order: ({ spec }) => spec.startTime,
  fields: {
    export: ({ spec }) => spec.exportName,
    run: ({ metadata }) => metadata.labels?.[LABEL.exportRun],
    status: (run) => exportRunWireStatus(run),
  },
  enter: () => ({ kind: 'text', text: 'errors' }),
  podsOf: podsOfRun,
  texts: ['errors', 'files', 'logs'],
  actions: [],
  hint: 'none: an export makes one for each day of its window',
});
