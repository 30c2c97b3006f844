import { randomUUID } from 'node:crypto';
import { DATASET_REQUESTS } from './dataset-requests.js';
import { PROMPT_REQUESTS } from './prompt-requests.js';
import { PRICE_REQUESTS } from './price-requests.js';
import type { Tenant } from './tenant.js';

/** The ids and names that a request holds: those of a tenant, or such as nobody has. */
export type Named = Pick<Tenant, 'ids' | 'project'>;

/** One request to a route, made of a tenant's ids. */
export interface RouteRequest {
  /** Parameters of the path that are not called as the ids of a tenant are. */
  readonly path?: (of: Named) => Readonly<Record<string, string>>;
  readonly query?: string | ((of: Named) => string);
  /** Ids of the victim that the answer may hold: the attacker has sent them itself. */
  readonly tells?: readonly string[];
  /** A text of answers with what the attacker stored itself, below an id of the victim. */
  readonly own?: string;
  /** Bodies: each is sent on its own. `own` is the attacker, whose ids make half of a body pass. */
  readonly bodies?: (of: Named, own: Named) => readonly unknown[];
}

const run = (more: object) => ({
  id: randomUUID(),
  name: 'attack',
  run_type: 'chain',
  inputs: { overwritten: true },
  ...more,
});

/** A run of the attacker under the victim's id, in the victim's project, and below the victim's run. */
const runs = ({ ids }: Named): readonly object[] => [
  run({ id: ids.posted_run_id }),
  run({ session_id: ids.session_id }),
  run({ id: ids.posted_run_id, session_id: ids.session_id }),
  run({ parent_run_id: ids.run_id }),
];
const batches = (of: Named): readonly object[] => [
  ...runs(of).map((one) => ({ post: [one], patch: [] })),
  ...runs(of).map((one) => ({ post: [], patch: [one] })),
];
const multipart = (of: Named): readonly FormData[] =>
  runs(of).map((one) => {
    const form = new FormData();
    const name = `post.${(one as { readonly id: string }).id}`;
    form.append(name, new Blob([JSON.stringify(one)], { type: 'application/json' }));
    return form;
  });
const updates = ({ ids }: Named): readonly object[] => [
  { outputs: { overwritten: true } },
  { session_id: ids.session_id, outputs: { overwritten: true } },
  { parent_run_id: ids.run_id, name: 'overwritten', end_time: '2026-01-01T00:00:00Z' },
];

const deployment = {
  name: 'attack',
  source: 'external_image',
  source_revision_config: { image_uri: 'local/none' },
};
const window = { start_time: '2026-01-01T00:00:00Z', end_time: '2026-01-02T00:00:00Z' };

const NOTHING: RouteRequest = {};
const SEARCHED: RouteRequest = { query: 'name_contains=%25&limit=100' };
const WRITE_RUN: RouteRequest = { bodies: runs };
const WRITE_BATCH: RouteRequest = { bodies: batches };
const WRITE_FORM: RouteRequest = { bodies: multipart };
const attribute = (key: string, stringValue: string) => ({ key, value: { stringValue } });
/** A span as the victim's run, in the victim's project, and below the victim's run. */
const WRITE_SPANS: RouteRequest = {
  bodies: ({ ids }) =>
    [
      [attribute('langsmith.span.id', ids.posted_run_id)],
      [attribute('langsmith.trace.session_id', ids.session_id)],
      [attribute('langsmith.trace.id', ids.run_id), attribute('langsmith.span.parent_id', ids.run_id)],
    ].map((attributes) => ({
      resourceSpans: [
        { scopeSpans: [{ spans: [{ traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), attributes }] }] },
      ],
    })),
};
const ERASE: RouteRequest = {
  bodies: ({ ids }) => [{ session_id: ids.session_id, trace_ids: [ids.run_id, ids.posted_run_id] }],
};
// by the ids of runs alone it finds those that the attacker stores under them itself
const LIST_RUNS: RouteRequest = {
  bodies: ({ ids }) => [{ session: [ids.session_id] }, { session_id: ids.session_id, trace: ids.run_id }],
};
const IN_PROJECT = ({ ids }: Named): string => `project_id=${ids.session_id}&selects=ID,INPUTS`;
const IN_PROJECT_OF_THREAD = ({ ids }: Named): string => `project_id=${ids.session_id}&selects=INPUTS`;
const GROUP_RUNS: RouteRequest = {
  bodies: ({ ids }) => [{ session_id: ids.session_id, group_by: 'conversation' }],
};
const PROBLEMS: RouteRequest = {
  query: 'limit=100',
  tells: ['run_id', 'posted_run_id', 'patched_run_id'],
};
// the attacker's run below the victim's stands for its trace, whose parent has not come there
const READ_RUN: RouteRequest = { own: '"name":"attack"' };
const UPDATE_RUN: RouteRequest = {
  path: ({ ids }) => ({ run_id: ids.patched_run_id }),
  bodies: updates,
};
const JUDGE: RouteRequest = {
  bodies: ({ ids }) => [
    { id: ids.posted_feedback_id, run_id: ids.patched_run_id, key: 'attack', score: 0 },
    { run_id: ids.patched_run_id, session_id: ids.session_id, key: 'attack' },
    { session_id: ids.session_id, key: 'attack', comment: 'attack' },
  ],
  tells: ['posted_feedback_id', 'patched_run_id', 'session_id'],
};
const FEEDBACK_CONFIG = { feedback_key: 'attack', feedback_config: { type: 'freeform' } };
const CHANGE_JUDGEMENT: RouteRequest = { bodies: () => [{ score: 0, comment: 'attack' }] };
// by the ids of runs it finds what the attacker says of them itself
const JUDGEMENTS: RouteRequest = { query: ({ ids }) => `session=${ids.session_id}` };
const TOKENS: RouteRequest = {
  bodies: ({ ids }) => [{ run_id: ids.posted_run_id, feedback_key: 'attack' }],
};
const TOKENS_OF_RUN: RouteRequest = { query: ({ ids }) => `run_id=${ids.run_id}` };
const SHARE: RouteRequest = { bodies: ({ ids }) => [{ run_id: ids.run_id }] };
const SHARED: RouteRequest = { path: () => ({ share_token: randomUUID() }) };
const SHARED_LIST: RouteRequest = { ...SHARED, bodies: ({ ids }) => [{ id: [ids.run_id] }] };
const CREATE_EXPORT: RouteRequest = {
  bodies: ({ ids }, own) => [
    { ...window, bulk_export_destination_id: ids.destination_id, session_id: ids.session_id },
    { ...window, bulk_export_destination_id: own.ids.destination_id, session_id: ids.session_id },
    { ...window, bulk_export_destination_id: ids.destination_id, session_id: own.ids.session_id },
  ],
};
const EXPORT_RUN: RouteRequest = {
  path: ({ ids }) => ({ export_id: ids.export_id, run_id: ids.export_run_id }),
};

const SIGN_READ: RouteRequest = {
  bodies: ({ ids }) => [
    { method: 'GET', uri: `http://127.0.0.1/agentplane/exports/export_id=${ids.export_id}/x.parquet` },
  ],
};
const SIGN_SEALED: RouteRequest = {
  path: ({ ids }) => ({ project_id: ids.session_id }),
  bodies: ({ ids }) => [
    {
      method: 'GET',
      uri: `http://127.0.0.1/agentplane-attachments/lake/${randomUUID()}/${ids.session_id}/table/x`,
    },
  ],
};
const CATALOGUE: RouteRequest = { path: ({ project }) => ({ namespace: project, table: 'walk' }) };

/**
 * What is sent to each route of the OpenAPI document. A route without an entry fails the matrix: whoever adds a route
 * says here where the ids of another tenant could stand in it.
 */
export const REST_REQUESTS: Readonly<Record<string, RouteRequest>> = {
  ...DATASET_REQUESTS,
  'GET /api/v1/lake': { query: ({ ids }) => `session_id=${ids.session_id}` },
  ...PRICE_REQUESTS,
  ...PROMPT_REQUESTS,
  'POST /auth/verify': NOTHING,
  'GET /iceberg/v1/config': NOTHING,
  'GET /iceberg/v1/namespaces': NOTHING,
  'GET /iceberg/v1/namespaces/{namespace}': CATALOGUE,
  'GET /iceberg/v1/namespaces/{namespace}/tables': CATALOGUE,
  'GET /iceberg/v1/namespaces/{namespace}/tables/{table}': CATALOGUE,
  'POST /iceberg/v1/sign/{export_id}': SIGN_READ,
  'POST /iceberg/v1/sign/projects/{project_id}': SIGN_SEALED,
  'GET /api/v1/workspaces/current': NOTHING,
  'GET /api/v1/api-key': { query: 'include_revoked=true' },
  'POST /api/v1/api-key': { bodies: () => [{ description: 'attack' }] },
  'DELETE /api/v1/api-key/{api_key_id}': NOTHING,
  'POST /runs/multipart': WRITE_FORM,
  'POST /api/v1/runs/multipart': WRITE_FORM,
  'POST /runs/batch': WRITE_BATCH,
  'POST /api/v1/runs/batch': WRITE_BATCH,
  'POST /otel/v1/traces': WRITE_SPANS,
  'POST /api/v1/otel/v1/traces': WRITE_SPANS,
  'POST /otel/v1/metrics': NOTHING,
  'POST /api/v1/otel/v1/metrics': NOTHING,
  'POST /otel/v1/logs': NOTHING,
  'POST /api/v1/otel/v1/logs': NOTHING,
  'POST /runs/delete': ERASE,
  'POST /api/v1/runs/delete': ERASE,
  'POST /runs': WRITE_RUN,
  'POST /api/v1/runs': WRITE_RUN,
  'POST /runs/query': LIST_RUNS,
  'POST /runs/stats': LIST_RUNS,
  'POST /runs/group': GROUP_RUNS,
  'POST /api/v1/runs/group': GROUP_RUNS,
  'POST /api/v2/threads/query': { bodies: ({ ids }) => [{ project_id: ids.session_id }] },
  'GET /api/v2/threads/{thread_id}/traces': {
    path: ({ ids }) => ({ thread_id: ids.run_id }),
    query: IN_PROJECT_OF_THREAD,
  },
  'POST /api/v1/runs/stats': LIST_RUNS,
  'POST /api/v1/runs/query': LIST_RUNS,
  'POST /api/v2/runs/query': {
    bodies: ({ ids }) => [
      { project_ids: [ids.session_id], selects: ['INPUTS'] },
      { project_ids: [ids.session_id], ids: [ids.run_id] },
    ],
  },
  'GET /api/v2/threads/{thread_id}/stats': {
    path: ({ ids }) => ({ thread_id: ids.run_id }),
    query: ({ ids }) => `session_id=${ids.session_id}&selects=TURNS`,
  },
  'POST /api/v2/traces/query': {
    bodies: ({ ids }) => [
      { project_id: ids.session_id, selects: ['INPUTS'] },
      { project_id: ids.session_id, trace_ids: [ids.run_id] },
    ],
  },
  'GET /api/v2/runs/{run_id}/url': {
    query: ({ ids }) => `project_id=${ids.session_id}&trace_id=${ids.run_id}`,
  },
  'POST /api/v2/runs/{run_id}/share': { bodies: ({ ids }) => [{ session_id: ids.session_id }] },
  'DELETE /api/v2/runs/{run_id}/share': { bodies: ({ ids }) => [{ session_id: ids.session_id }] },
  'GET /api/v2/public/{share_token}/run/{run_id}': { ...SHARED, query: () => 'selects=INPUTS' },
  'POST /api/v2/public/{share_token}/runs/query': { ...SHARED, bodies: () => [{ selects: ['INPUTS'] }] },
  'GET /api/v2/runs/{run_id}': { query: IN_PROJECT },
  'GET /api/v2/traces/{trace_id}/runs': { path: ({ ids }) => ({ trace_id: ids.run_id }), query: IN_PROJECT },
  'GET /runs/{run_id}': READ_RUN,
  'PATCH /runs/{run_id}': UPDATE_RUN,
  'GET /api/v1/runs/{run_id}': READ_RUN,
  'PATCH /api/v1/runs/{run_id}': UPDATE_RUN,
  'PUT /runs/{run_id}/share': SHARE,
  'PUT /api/v1/runs/{run_id}/share': SHARE,
  'GET /runs/{run_id}/share': NOTHING,
  'GET /api/v1/runs/{run_id}/share': NOTHING,
  'DELETE /runs/{run_id}/share': NOTHING,
  'DELETE /api/v1/runs/{run_id}/share': NOTHING,
  'GET /public/{share_token}/run': SHARED,
  'GET /api/v1/public/{share_token}/run': SHARED,
  'GET /public/{share_token}/run/{run_id}': SHARED,
  'GET /api/v1/public/{share_token}/run/{run_id}': SHARED,
  'POST /public/{share_token}/runs/query': SHARED_LIST,
  'POST /api/v1/public/{share_token}/runs/query': SHARED_LIST,
  'GET /public/{share_token}/r': SHARED,
  'GET /api/v1/public/{share_token}/r': SHARED,
  'GET /attachments/{token}': { path: () => ({ token: 'A'.repeat(115) }) },
  'GET /sessions': SEARCHED,
  'POST /sessions': {
    bodies: ({ ids, project }) => [
      { name: project, description: 'attack' },
      { name: `${project} taken`, id: ids.taken_session_id },
      { name: `${project} tested`, reference_dataset_id: ids.dataset_id },
    ],
  },
  'GET /api/v1/sessions': SEARCHED,
  'POST /api/v1/sessions': { bodies: ({ project }) => [{ name: project, extra: { attack: true } }] },
  'GET /sessions/{session_id}': NOTHING,
  'PATCH /sessions/{session_id}': { bodies: ({ project }) => [{ name: project }, { description: 'attack' }] },
  'DELETE /sessions/{session_id}': NOTHING,
  'GET /api/v1/sessions/{session_id}': NOTHING,
  'PATCH /api/v1/sessions/{session_id}': {
    bodies: ({ project }) => [{ name: project }, { description: 'attack' }],
  },
  'DELETE /api/v1/sessions/{session_id}': NOTHING,
  'POST /feedback': JUDGE,
  'POST /api/v1/feedback': JUDGE,
  'GET /feedback': JUDGEMENTS,
  'GET /api/v1/feedback': JUDGEMENTS,
  'POST /feedback/tokens': TOKENS,
  'POST /api/v1/feedback/tokens': TOKENS,
  'GET /feedback/tokens': TOKENS_OF_RUN,
  'GET /api/v1/feedback/tokens': TOKENS_OF_RUN,
  ...Object.fromEntries(
    ['', '/api/v1'].flatMap((prefix) => [
      [`GET ${prefix}/feedback-configs`, { query: ({ ids }) => `name_contains=${ids.run_id}` }],
      [`POST ${prefix}/feedback-configs`, { bodies: () => [FEEDBACK_CONFIG] }],
      [
        `PATCH ${prefix}/feedback-configs`,
        { bodies: ({ ids }) => [{ feedback_key: `kept ${ids.run_id}`, is_lower_score_better: true }] },
      ],
      [`DELETE ${prefix}/feedback-configs`, { query: ({ ids }) => `feedback_key=kept%20${ids.run_id}` }],
    ]),
  ),
  'GET /feedback/{feedback_id}': NOTHING,
  'GET /api/v1/feedback/{feedback_id}': NOTHING,
  'PATCH /feedback/{feedback_id}': CHANGE_JUDGEMENT,
  'PATCH /api/v1/feedback/{feedback_id}': CHANGE_JUDGEMENT,
  'DELETE /feedback/{feedback_id}': NOTHING,
  'DELETE /api/v1/feedback/{feedback_id}': NOTHING,
  'GET /v1/warnings': NOTHING,
  'GET /ingest-problems': PROBLEMS,
  'GET /api/v1/ingest-problems': PROBLEMS,
  'GET /v2/deployments': SEARCHED,
  'POST /v2/deployments': {
    bodies: ({ ids }) => [
      { ...deployment, source_config: { listener_id: ids.listener_id } },
      {
        ...deployment,
        source_config: {
          listener_id: ids.listener_id,
          listener_config: { cluster_namespace: 'ws-default' },
        },
      },
    ],
  },
  'GET /v2/deployments/{deployment_id}': NOTHING,
  'PATCH /v2/deployments/{deployment_id}': {
    bodies: () => [
      { secrets: [{ name: 'STOLEN', value: 'yes' }] },
      { source_revision_config: { image_uri: 'sample-agent' } },
      {},
    ],
  },
  'DELETE /v2/deployments': { query: ({ ids }) => `deployment_ids=${ids.deployment_id}` },
  'DELETE /v2/deployments/{deployment_id}': { query: 'delete_tracing_project=true' },
  'GET /v2/deployments/{deployment_id}/revisions': NOTHING,
  'GET /v2/deployments/{deployment_id}/revisions/{revision_id}': NOTHING,
  'POST /v2/deployments/{deployment_id}/revisions': { bodies: () => [{}] },
  'GET /v2/deployments/{deployment_id}/events': { query: 'limit=10' },
  'GET /v2/deployments/{deployment_id}/logs': { query: 'tail=10' },
  'GET /v2/deployments/{deployment_id}/revisions/{revision_id}/logs': { query: 'tail=10' },
  'POST /v2/deployments/{deployment_id}/revisions/{revision_id}/redeploy': NOTHING,
  'POST /v2/deployments/{deployment_id}/restart': NOTHING,
  'POST /v2/deployments/{deployment_id}/upload-url': { bodies: () => [{}] },
  'POST /v2/deployments/{deployment_id}/push-token': { bodies: () => [{}] },
  'GET /v2/deployments/{deployment_id}/archives/{archive_id}': {
    path: () => ({ archive_id: randomUUID() }),
  },
  'PUT /uploads/{token}': { path: () => ({ token: 'A'.repeat(115) }) },
  'POST /v1/projects/{deployment_id}/deploy_logs': { bodies: () => [{}] },
  'POST /v1/projects/{deployment_id}/revisions/{revision_id}/deploy_logs': { bodies: () => [{}] },
  'POST /v1/projects/{deployment_id}/revisions/{revision_id}/build_logs': { bodies: () => [{}] },
  'GET /v1/integrations/git_host/install': NOTHING,
  'POST /v1/integrations/git_host': {
    bodies: () => [{ name: 'attack', host: 'example.org', token: 'attack' }],
  },
  'DELETE /v1/integrations/git_host/{integration_id}': NOTHING,
  'PUT /v1/integrations/git_host/{integration_id}/webhook': {
    bodies: () => [{ secret: 'attack-attack-attack' }],
  },
  'DELETE /v1/integrations/git_host/{integration_id}/webhook': NOTHING,
  'GET /v2/listeners': NOTHING,
  'GET /v2/listeners/{listener_id}': NOTHING,
  // a name of its own each time: who may make listeners would be told of the former one
  'POST /v2/listeners': {
    bodies: () => [{ compute_id: `attack-${randomUUID()}`, remote: { api_url: 'http://attack' } }],
  },
  'PATCH /v2/listeners/{listener_id}': { bodies: () => [{ compute_config: { cluster_namespaces: ['x'] } }] },
  'DELETE /v2/listeners/{listener_id}': NOTHING,
  'GET /api/v1/bulk-exports/destinations': NOTHING,
  'POST /api/v1/bulk-exports/destinations': {
    bodies: () => [
      { destination_type: 'object_store', display_name: 'attack', config: { bucket_name: '../other' } },
    ],
  },
  'GET /api/v1/bulk-exports/destinations/{destination_id}': NOTHING,
  'PATCH /api/v1/bulk-exports/destinations/{destination_id}': { bodies: () => [{ display_name: 'renamed' }] },
  'POST /api/v1/bulk-exports/destinations/{destination_id}/test': NOTHING,
  'DELETE /api/v1/bulk-exports/destinations/{destination_id}': NOTHING,
  'GET /api/v1/bulk-exports': NOTHING,
  'POST /api/v1/bulk-exports': CREATE_EXPORT,
  'POST /api/v1/bulk-exports/estimate': CREATE_EXPORT,
  'GET /api/v1/bulk-exports/{export_id}': NOTHING,
  'PATCH /api/v1/bulk-exports/{export_id}': { bodies: () => [{ status: 'CANCELLED' }] },
  'POST /api/v1/bulk-exports/{export_id}/continue': NOTHING,
  'GET /api/v1/bulk-exports/{export_id}/late': NOTHING,
  'POST /api/v1/bulk-exports/{export_id}/late': NOTHING,
  'GET /api/v1/bulk-exports/runs': { query: ({ ids }) => `source_bulk_export_id=${ids.export_id}` },
  'GET /api/v1/bulk-exports/{export_id}/runs': NOTHING,
  'GET /api/v1/bulk-exports/{export_id}/runs/{run_id}': EXPORT_RUN,
};
