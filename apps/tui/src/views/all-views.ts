import { podsOfRun } from '#lib/export-plan';
import {
  ANNOTATION,
  type BulkExportDestination,
  type BulkExportRun,
  exportRunState,
  exportRunWireStatus,
  idOf,
  keyOf,
  LABEL,
  RESOURCES,
  resourceState,
} from '#lib/resources';
import { deletion } from './common-actions.js';
import { DEPLOYMENTS } from './deployments.js';
import { AGE, minute, NAME, PROGRESS_COLUMNS } from './export-cells.js';
import { EXPORTS, SCHEDULES } from './exports.js';
import { EVENTS_VIEW, LISTENERS, WORKSPACES } from './platform-views.js';
import { KEYS, STEPS, THREADS, TRACES } from './rest-views.js';
import { PODS_VIEW, REVISIONS } from './revisions.js';
import { type Column, defineView, leadsTo, type View } from './view.js';

const COLUMNS: readonly Column<BulkExportRun>[] = [
  NAME,
  { heading: 'FROM', cell: ({ spec }) => minute(spec.startTime) },
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
  { heading: 'TO', cell: ({ spec }) => minute(spec.endTime), isWide: true },
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

const REF = RESOURCES.BulkExportDestination;

export const DESTINATIONS = defineView<BulkExportDestination>({
  name: 'destinations',
  aliases: ['destination', 'dest', 'bxd', 'bulkexportdestinations'],
  about: 'buckets that exports go to, and whether they can be used',
  source: { kind: 'kube', ref: REF },
  state: resourceState,
  columns: [
    NAME,
    { heading: 'BUCKET', cell: ({ spec }) => spec.config.bucketName },
    { heading: 'PREFIX', cell: ({ spec }) => spec.config.prefix ?? '' },
    { heading: 'TESTED', cell: ({ status }) => minute(status?.testedAt) },
    AGE,
    { heading: 'ENDPOINT', cell: ({ spec }) => spec.config.endpointUrl ?? '', isWide: true },
    { heading: 'TITLE', cell: ({ spec }) => spec.displayName ?? '', isWide: true },
  ],
  fields: { id: (destination) => idOf(destination), destination: ({ metadata }) => metadata.name },
  enter: leadsTo('exports', 'destination'),
  actions: [
    {
      key: 't',
      word: 'test again',
      about: 'write, read and delete an object in the bucket, as before the first export',
      right: { verb: 'patch', ref: REF },
      perform: async (destination, { client, newId }) => {
        await client.mergeMetadata(REF, keyOf(destination), {
          annotations: { [ANNOTATION.testRequest]: newId() },
        });
        return `${destination.metadata.name} is tested again`;
      },
    },
    deletion(REF, 'exports that name it fail'),
  ],
  hint: 'none yet: "agentplane apply -f" with a BulkExportDestination makes one',
});

/** Views in the order in which the prompt offers them. */
export const VIEWS: readonly View[] = [
  DEPLOYMENTS,
  REVISIONS,
  PODS_VIEW,
  EXPORTS,
  EXPORT_RUNS,
  SCHEDULES,
  DESTINATIONS,
  TRACES,
  THREADS,
  STEPS,
  EVENTS_VIEW,
  LISTENERS,
  WORKSPACES,
  KEYS,
];

/** Finds a view by its name or an alias. */
export function findView(word: string): View | undefined {
  return VIEWS.find(({ name, aliases }) => name === word || aliases.includes(word));
}

/** @throws Error for a name that no view has: one that the program itself wrote */
export function getView(name: string): View {
  const view = findView(name);
  if (view === undefined) throw new Error(`no view is called ${name}`);
  return view;
}
