import { CONDITION, type Condition, LABEL, REASON } from '#lib/resources';
import type { Item } from '../world/items.js';

/** The time of the scene. */
export const SCENE_NOW = new Date('2026-05-01T12:00:00Z');
const NAMESPACE = 'ws-default';

/** An item with whatever fields a test gives it. */
function item(name: string, fields: Readonly<Record<string, unknown>> = {}, metadata: object = {}): Item {
  return {
    metadata: {
      name,
      namespace: NAMESPACE,
      uid: `uid-${name}`,
      creationTimestamp: '2026-05-01T10:00:00Z',
      ...metadata,
    },
    ...fields,
  };
}

export function ready(status: Condition['status'], reason: string, message = ''): Condition {
  return { type: CONDITION.ready, status, reason, message, lastTransitionTime: '2026-05-01T11:00:00Z' };
}

export function agent(
  name: string,
  conditions: readonly Condition[],
  status: object = {},
  spec: object = {},
): Item {
  return item(name, {
    kind: 'AgentDeployment',
    spec: {
      source: 'internal_image',
      suspend: false,
      sourceConfig: {},
      sourceRevisionConfig: { imageUri: name },
      revisionHistoryLimit: 10,
      ...spec,
    },
    status: { conditions, ...status },
  });
}

function revision(
  deployment: string,
  number: number,
  conditions: readonly Condition[],
  status: object = {},
): Item {
  const name = `${deployment}-${String(number).padStart(5, '0')}`;
  return item(
    name,
    {
      kind: 'AgentRevision',
      spec: { deploymentName: deployment, number, imageUri: deployment, listenerName: 'cluster' },
      status: { conditions, image: `local/${deployment}@sha256:${'ab12'.repeat(16)}`, ...status },
    },
    { labels: { [LABEL.deployment]: deployment } },
  );
}

function bulkExport(
  name: string,
  conditions: readonly Condition[],
  status: object = {},
  spec: object = {},
): Item {
  return item(name, {
    kind: 'BulkExport',
    spec: {
      destinationRef: { name: 'lake' },
      tracingProject: { name: 'weather' },
      format: 'parquet',
      formatVersion: 'v2_beta',
      compression: 'zstd',
      cancel: false,
      suspend: false,
      ...spec,
    },
    status: { conditions, ...status },
  });
}

function exportRun(of: string, day: string, conditions: readonly Condition[], status: object = {}): Item {
  return item(`${of}-${day}`, {
    kind: 'BulkExportRun',
    spec: {
      exportName: of,
      startTime: `${day}T00:00:00Z`,
      endTime: `${day}T24:00:00Z`,
      destination: { config: { bucketName: 'lake' } },
    },
    status: { conditions, ...status },
  });
}

/** Runs of many exports, in no order. */
export function manyRuns(count: number): readonly Item[] {
  return Array.from({ length: count }, (_, at) => {
    const number = (at * 7919) % count;
    const day = new Date(Date.UTC(2020, 0, 1 + (number % 2_000))).toISOString().slice(0, 10);
    return exportRun(`export-${String(number).padStart(6, '0')}`, day, [ready('Unknown', REASON.queued)], {
      rows: number,
      percent: number % 100,
    });
  });
}

const accepted: Condition = { ...ready('True', REASON.accepted), type: CONDITION.accepted };
const running = [accepted, ready('True', REASON.started, 'days are in progress')];

/** One of everything, in the states in which people meet it. */
export const SCENE: Readonly<Record<string, readonly Item[]>> = {
  agentdeployments: [
    agent('weather', [ready('True', REASON.ready)], {
      activeRevisionName: 'weather-00002',
      latestRevisionName: 'weather-00002',
      url: 'http://127.0.0.1:8470/agents/ws-default/weather',
    }),
    agent(
      'support',
      [
        ready(
          'False',
          REASON.crashLoop,
          'support-00001: container agent ended 3 times, last with exit code 2: Error: OPENAI_API_KEY is not set',
        ),
      ],
      {
        latestRevisionName: 'support-00001',
      },
    ),
    agent(
      '翻訳エージェント-is-a-name-of-wide-characters',
      [ready('Unknown', REASON.deploying, '0 of 1 pods are ready')],
      {
        latestRevisionName: 'x-00001',
      },
    ),
    agent(
      'archive',
      [ready('False', REASON.suspended, 'the deployment is suspended')],
      {},
      { suspend: true },
    ),
  ],
  agentrevisions: [
    revision('weather', 2, [ready('True', REASON.serving, 'serves')], { replicas: 2, readyReplicas: 2 }),
    revision('weather', 1, [ready('False', REASON.replaced, 'a newer revision serves; kept for a rollback')]),
    revision('support', 1, [
      ready('False', REASON.crashLoop, 'container agent ended 3 times'),
      { ...ready('True', REASON.crashLoop), type: CONDITION.failed },
    ]),
  ],
  bulkexports: [
    ...Array.from({ length: 5 }, (_, at) =>
      bulkExport(
        `queued-${at}`,
        [accepted, ready('True', REASON.queued, '15 days are in progress in this workspace')],
        {
          runs: { total: 3 },
        },
      ),
    ),
    bulkExport('june', running, {
      rows: 1_234_567,
      bytes: 987_654_321,
      percent: 62,
      runs: { total: 30, completed: 18, running: 12 },
    }),
    bulkExport(
      'may',
      [
        accepted,
        { ...ready('True', REASON.completed), type: CONDITION.completed },
        ready('True', REASON.completed),
      ],
      {
        rows: 54_321,
        bytes: 12_345_678,
        percent: 100,
        runs: { total: 31, completed: 31 },
      },
    ),
    bulkExport('april', [
      { ...ready('True', REASON.runFailed), type: CONDITION.failed },
      ready('False', REASON.runFailed, 'day april-2026-04-03 failed after 20 attempts: AccessDenied'),
    ]),
    bulkExport(
      'nightly',
      [accepted, ready('True', REASON.scheduled, 'next window ends at 2026-05-02T00:00:00Z')],
      { nextSpawn: '2026-05-02T00:10:00Z', spawnedUntil: '2026-05-01T00:00:00Z', windowsBehind: 0 },
      { intervalHours: 24 },
    ),
  ],
  bulkexportruns: [
    exportRun(
      'june',
      '2026-06-01',
      [{ ...ready('True', REASON.completed), type: CONDITION.completed }, ready('True', REASON.completed)],
      {
        rows: 40_000,
        bytes: 31_000_000,
        percent: 100,
        attempt: 1,
        files: 2,
      },
    ),
    exportRun(
      'june',
      '2026-06-02',
      [{ ...ready('True', REASON.started), type: CONDITION.running }, ready('True', REASON.started)],
      {
        rows: 9_000,
        bytes: 7_000_000,
        percent: 22,
        attempt: 2,
        errors: { retry_1: 'SlowDown: reduce your request rate' },
      },
    ),
  ],
  workspaces: [
    item(
      'default',
      {
        kind: 'Workspace',
        spec: { tenantId: 't', plan: 'developer' },
        status: { namespace: NAMESPACE, conditions: [ready('True', REASON.ready)] },
      },
      { namespace: undefined },
    ),
  ],
};
