import { isJsonObject, type JsonObject } from '#lib/json';
import { recordAt, textAt } from '../../object/reading.js';
import { always, chain, derived, fields, type Fill, inside, when } from './fill.js';
import { podTemplate } from './pod.js';

const MAX_INT32 = 2_147_483_647;

const rollingUpdate = when(
  (strategy) => strategy['type'] === 'RollingUpdate',
  always('rollingUpdate', fields({ maxSurge: '25%', maxUnavailable: '25%' })),
);

export const deployment: Fill = inside(
  'spec',
  podTemplate,
  fields({ replicas: 1, revisionHistoryLimit: 10, progressDeadlineSeconds: 600 }),
  always('strategy', fields({ type: 'RollingUpdate' }), rollingUpdate),
);

export const replicaSet: Fill = inside('spec', podTemplate, fields({ replicas: 1 }));

export const statefulSet: Fill = inside(
  'spec',
  podTemplate,
  fields({ replicas: 1, revisionHistoryLimit: 10, podManagementPolicy: 'OrderedReady' }),
  always(
    'updateStrategy',
    when((strategy) => (strategy['type'] ?? '') === '', fields({ type: 'RollingUpdate', rollingUpdate: {} })),
    when(
      (strategy) => strategy['type'] === 'RollingUpdate',
      inside('rollingUpdate', fields({ partition: 0 })),
    ),
  ),
  always('persistentVolumeClaimRetentionPolicy', fields({ whenDeleted: 'Retain', whenScaled: 'Retain' })),
);

export const job: Fill = chain(
  inside(
    'spec',
    podTemplate,
    when(
      (spec) => spec['completions'] === undefined && spec['parallelism'] === undefined,
      fields({ completions: 1 }),
    ),
    fields({ parallelism: 1, completionMode: 'NonIndexed', suspend: false, manualSelector: false }),
    derived('backoffLimit', (spec) => (spec['backoffLimitPerIndex'] === undefined ? 6 : MAX_INT32)),
    derived('podReplacementPolicy', (spec) =>
      spec['podFailurePolicy'] === undefined ? 'TerminatingOrFailed' : 'Failed',
    ),
  ),
  labelsOfTemplate,
);

function labelsOfTemplate(object: JsonObject): JsonObject {
  const metadata = recordAt(object, 'metadata');
  const labels = recordAt(object, 'spec', 'template', 'metadata', 'labels');
  if (Object.keys(recordAt(metadata, 'labels')).length > 0 || Object.keys(labels).length === 0) return object;
  return { ...object, metadata: { ...metadata, labels } };
}

/** A new Job gets its selector and the labels of its pods from its uid, unless it says `manualSelector`. */
export function prepareJob(object: JsonObject): JsonObject {
  const spec = recordAt(object, 'spec');
  if (spec['manualSelector'] === true) return object;
  const uid = textAt(object, ['metadata', 'uid']);
  const name = textAt(object, ['metadata', 'name']);
  const template = recordAt(spec, 'template');
  const metadata = recordAt(template, 'metadata');
  const given = recordAt(metadata, 'labels');
  const uidLabel = 'batch.kubernetes.io/controller-uid';
  const labels = {
    'batch.kubernetes.io/job-name': name,
    'controller-uid': uid,
    'job-name': name,
    [uidLabel]: uid,
    ...given,
  };
  const selector = isJsonObject(spec['selector']) ? spec['selector'] : {};
  const matchLabels = { ...recordAt(selector, 'matchLabels'), [uidLabel]: labels[uidLabel] };
  return {
    ...object,
    spec: {
      ...spec,
      selector: { ...selector, matchLabels },
      template: { ...template, metadata: { ...metadata, labels } },
    },
  };
}
