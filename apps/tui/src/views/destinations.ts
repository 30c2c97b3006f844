import {
  ANNOTATION,
  type BulkExportDestination,
  idOf,
  keyOf,
  RESOURCES,
  resourceState,
} from '#lib/resources';
import { deletion } from './common-actions.js';
import { AGE, NAME } from './standard-columns.js';
import { defineView } from './view.js';

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
    { heading: 'TESTED', cell: ({ status }) => status?.testedAt?.slice(0, 16).replace('T', ' ') ?? '' },
    AGE,
    { heading: 'ENDPOINT', cell: ({ spec }) => spec.config.endpointUrl ?? '', isWide: true },
    { heading: 'TITLE', cell: ({ spec }) => spec.displayName ?? '', isWide: true },
  ],
  fields: { id: (destination) => idOf(destination), destination: ({ metadata }) => metadata.name },
  enter: ({ metadata: { name, namespace } }) => ({
    kind: 'view',
    view: 'exports',
    scope: { title: name, field: 'destination', value: name, namespace },
  }),
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
  hint: 'none yet: kubectl apply -f examples/export.yaml makes one',
});
