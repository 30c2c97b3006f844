import { KEY_SCOPES, type KeyScope } from '#lib/auth';

/** Routes without a key, by their whole path as the OpenAPI document spells it. Everything else needs one. */
export const PUBLIC_PATHS: ReadonlySet<string> = new Set([
  '/ok',
  '/info',
  '/api/v1/info',
  '/openapi.json',
  // a page that shows it, and the two files of the page
  '/docs',
  '/docs/{file}',
  // the token in it is signed, and names the owner of the attachment
  '/attachments/{token}',
]);

/** The same for routes whose path has a secret, by their place in the table below. */
const PUBLIC_ROUTES: ReadonlySet<string> = new Set([
  // a signed URL for one archive of a deployment
  'PUT /uploads/{token}',
  // takes a key as the secret of a client
  'POST /iceberg/v1/oauth/tokens',
  'GET /feedback/tokens/{token}',
  'POST /feedback/tokens/{token}',
  'GET /public/{share_token}/run',
  'GET /public/{share_token}/run/{run_id}',
  'POST /public/{share_token}/runs/query',
  'GET /public/{share_token}/r',
  'GET /api/v2/public/{share_token}/run/{run_id}',
  'POST /api/v2/public/{share_token}/runs/query',
  // a git host signs with a secret of the integration
  'POST /v1/integrations/git_host/{integration_id}/webhook/{tenant_id}',
  // pages ask for a cookie, and for a key in a form
  'GET /console',
  'GET /o',
  'GET /o/{tenant_id}/datasets/{dataset_id}',
  'GET /o/{tenant_id}/datasets/{dataset_id}/compare',
  'GET /o/{tenant_id}/deployments',
  'GET /o/{tenant_id}/deployments/{deployment_id}',
  'POST /o/{tenant_id}/deployments/{deployment_id}/threads',
  'GET /o/{tenant_id}/deployments/{deployment_id}/threads/{thread_id}',
  'POST /o/{tenant_id}/deployments/{deployment_id}/threads/{thread_id}',
  'GET /o/{tenant_id}/exports',
  'GET /o/{tenant_id}/exports/{export_id}',
  'GET /o/{tenant_id}/projects',
  'GET /o/{tenant_id}/projects/p/{session_id}',
  'GET /o/{tenant_id}/projects/p/{session_id}/r/{run_id}',
  'POST /o/{tenant_id}/projects/p/{session_id}/r/{run_id}/share',
  'POST /o/{tenant_id}/projects/p/{session_id}/r/{run_id}/unshare',
  'GET /sign-in',
  'POST /sign-in',
  'POST /sign-out',
]);

/** @param pattern with parameters as the router or the OpenAPI document spells them */
export function isPublic(method: string, pattern: string): boolean {
  const isRead = method === 'GET' || method === 'HEAD';
  if (isRead && PUBLIC_PATHS.has(documentedPath(pattern))) return true;
  return PUBLIC_ROUTES.has(routeName(method, pattern));
}

function documentedPath(pattern: string): string {
  return pattern.replace(/:([a-z_]+)/g, '{$1}');
}

const WORKSPACE: readonly KeyScope[] = ['workspace'];
const READ: readonly KeyScope[] = ['workspace', 'read'];
const WRITE_RUNS: readonly KeyScope[] = ['workspace', 'deployment', 'ingest'];
const READ_RUN: readonly KeyScope[] = ['workspace', 'deployment', 'read'];

/**
 * Scopes that open each route, `METHOD /path` as in the OpenAPI document; trace routes are listed once for
 * both of their prefixes. A test compares this table with the document.
 */
export const ROUTE_SCOPES: Readonly<Record<string, readonly KeyScope[]>> = {
  'POST /auth/verify': KEY_SCOPES,
  'GET /api/v1/workspaces/current': READ,
  'GET /api/v1/api-key': WORKSPACE,
  'POST /api/v1/api-key': WORKSPACE,
  'DELETE /api/v1/api-key/{api_key_id}': WORKSPACE,
  'POST /runs': WRITE_RUNS,
  'POST /runs/batch': WRITE_RUNS,
  'POST /runs/multipart': WRITE_RUNS,
  'POST /otel/v1/traces': WRITE_RUNS,
  'POST /otel/v1/metrics': WRITE_RUNS,
  'POST /otel/v1/logs': WRITE_RUNS,
  // a deployment's own key reaches the traces of its own project alone
  'POST /runs/delete': ['workspace', 'deployment'],
  'PATCH /runs/{run_id}': WRITE_RUNS,
  'GET /runs/{run_id}': READ_RUN,
  'PUT /runs/{run_id}/share': WORKSPACE,
  'GET /runs/{run_id}/share': READ,
  'DELETE /runs/{run_id}/share': WORKSPACE,
  'POST /runs/query': READ_RUN,
  'POST /runs/stats': READ_RUN,
  'POST /runs/group': READ_RUN,
  'POST /api/v2/runs/{run_id}/share': WORKSPACE,
  'DELETE /api/v2/runs/{run_id}/share': WORKSPACE,
  'GET /api/v2/runs/{run_id}/url': READ_RUN,
  'POST /api/v2/traces/query': READ_RUN,
  'GET /api/v2/threads/{thread_id}/stats': READ_RUN,
  'POST /api/v2/threads/query': READ_RUN,
  'GET /api/v2/threads/{thread_id}/traces': READ_RUN,
  'POST /api/v2/runs/query': READ_RUN,
  'GET /api/v2/runs/{run_id}': READ_RUN,
  'GET /api/v2/traces/{trace_id}/runs': READ_RUN,
  'GET /sessions': READ,
  'POST /sessions': WORKSPACE,
  'GET /sessions/{session_id}': READ,
  'PATCH /sessions/{session_id}': WORKSPACE,
  'DELETE /sessions/{session_id}': WORKSPACE,
  'POST /feedback': WRITE_RUNS,
  'GET /feedback': READ_RUN,
  'POST /feedback/tokens': WRITE_RUNS,
  'GET /feedback/tokens': READ_RUN,
  'GET /feedback/{feedback_id}': READ_RUN,
  'PATCH /feedback/{feedback_id}': ['workspace', 'deployment'],
  'DELETE /feedback/{feedback_id}': ['workspace', 'deployment'],
  'GET /feedback-configs': READ,
  'POST /feedback-configs': WORKSPACE,
  'PATCH /feedback-configs': WORKSPACE,
  'DELETE /feedback-configs': WORKSPACE,
  'GET /v1/warnings': READ,
  'GET /ingest-problems': READ,
  'GET /model-price-map': READ,
  'POST /model-price-map': WORKSPACE,
  'PUT /model-price-map': WORKSPACE,
  'GET /model-price-map/unmatched': READ,
  'POST /model-price-map/apply': WORKSPACE,
  'GET /model-price-map/apply': READ,
  'GET /model-price-map/apply/{application_id}': READ,
  'PUT /model-price-map/{price_id}': WORKSPACE,
  'DELETE /model-price-map/{price_id}': WORKSPACE,
  // agents pull their prompts with the key of their deployment
  'GET /settings': READ_RUN,
  'GET /repos': READ_RUN,
  'POST /repos': WORKSPACE,
  'GET /repos/{owner}/{repo}': READ_RUN,
  'PATCH /repos/{owner}/{repo}': WORKSPACE,
  'DELETE /repos/{owner}/{repo}': WORKSPACE,
  'GET /repos/{owner}/{repo}/tags': READ_RUN,
  'POST /repos/{owner}/{repo}/tags': WORKSPACE,
  'DELETE /repos/{owner}/{repo}/tags/{tag_name}': WORKSPACE,
  'GET /commits/{owner}/{repo}': READ_RUN,
  'POST /commits/{owner}/{repo}': WORKSPACE,
  'GET /commits/{owner}/{repo}/{commit}': READ_RUN,
  'POST /likes/{owner}/{repo}': WORKSPACE,
  'GET /datasets': READ,
  'POST /datasets': WORKSPACE,
  'GET /datasets/{dataset_id}': READ,
  'PATCH /datasets/{dataset_id}': WORKSPACE,
  'DELETE /datasets/{dataset_id}': WORKSPACE,
  'GET /datasets/{dataset_id}/versions': READ,
  'GET /datasets/{dataset_id}/version': READ,
  'PUT /datasets/{dataset_id}/tags': WORKSPACE,
  'GET /datasets/{dataset_id}/versions/diff': READ,
  'GET /datasets/{dataset_id}/splits': READ,
  'PUT /datasets/{dataset_id}/splits': WORKSPACE,
  'POST /datasets/{dataset_id}/runs': READ,
  'POST /api/v2/datasets/{dataset_id}/experiment-runs': READ,
  'GET /examples': READ,
  'DELETE /examples': WORKSPACE,
  'GET /examples/{example_id}': READ,
  'DELETE /examples/{example_id}': WORKSPACE,
  'POST /v1/platform/datasets/{dataset_id}/examples': WORKSPACE,
  'PATCH /v1/platform/datasets/{dataset_id}/examples': WORKSPACE,
  'POST /v1/platform/datasets/examples/delete': WORKSPACE,
  'GET /v2/deployments': READ,
  'POST /v2/deployments': WORKSPACE,
  'GET /v2/deployments/{deployment_id}': READ,
  'PATCH /v2/deployments/{deployment_id}': WORKSPACE,
  'DELETE /v2/deployments/{deployment_id}': WORKSPACE,
  'GET /v2/deployments/{deployment_id}/revisions': READ,
  'GET /v2/deployments/{deployment_id}/revisions/{revision_id}': READ,
  'GET /v2/deployments/{deployment_id}/logs': READ,
  'GET /v2/deployments/{deployment_id}/events': READ,
  'GET /v2/deployments/{deployment_id}/revisions/{revision_id}/logs': READ,
  'POST /v2/deployments/{deployment_id}/restart': WORKSPACE,
  'POST /v2/deployments/{deployment_id}/revisions/{revision_id}/redeploy': WORKSPACE,
  'POST /v2/deployments/{deployment_id}/upload-url': WORKSPACE,
  'POST /v2/deployments/{deployment_id}/push-token': WORKSPACE,
  // builds fetch with the deployment's own key
  'GET /v2/deployments/{deployment_id}/archives/{archive_id}': ['workspace', 'deployment'],
  'POST /v1/projects/{deployment_id}/deploy_logs': READ,
  'POST /v1/projects/{deployment_id}/revisions/{revision_id}/deploy_logs': READ,
  'POST /v1/projects/{deployment_id}/revisions/{revision_id}/build_logs': READ,
  'GET /v1/integrations/git_host/install': WORKSPACE,
  'POST /v1/integrations/git_host': WORKSPACE,
  'PUT /v1/integrations/git_host/{integration_id}/webhook': WORKSPACE,
  'DELETE /v1/integrations/git_host/{integration_id}/webhook': WORKSPACE,
  'DELETE /v1/integrations/git_host/{integration_id}': WORKSPACE,
  'DELETE /v2/deployments': WORKSPACE,
  'POST /v2/deployments/{deployment_id}/revisions': WORKSPACE,
  'GET /v2/listeners': WORKSPACE,
  'GET /v2/listeners/{listener_id}': WORKSPACE,
  'POST /v2/listeners': WORKSPACE,
  'PATCH /v2/listeners/{listener_id}': WORKSPACE,
  'DELETE /v2/listeners/{listener_id}': WORKSPACE,
  'GET /api/v1/bulk-exports/destinations': READ,
  'POST /api/v1/bulk-exports/destinations': WORKSPACE,
  'GET /api/v1/bulk-exports/destinations/{destination_id}': READ,
  'PATCH /api/v1/bulk-exports/destinations/{destination_id}': WORKSPACE,
  'POST /api/v1/bulk-exports/destinations/{destination_id}/test': WORKSPACE,
  'DELETE /api/v1/bulk-exports/destinations/{destination_id}': WORKSPACE,
  'GET /api/v1/bulk-exports': READ,
  'POST /api/v1/bulk-exports': WORKSPACE,
  'POST /api/v1/bulk-exports/estimate': READ,
  'GET /api/v1/bulk-exports/runs': READ,
  'GET /api/v1/bulk-exports/{export_id}': READ,
  'PATCH /api/v1/bulk-exports/{export_id}': WORKSPACE,
  'POST /api/v1/bulk-exports/{export_id}/continue': WORKSPACE,
  'GET /api/v1/bulk-exports/{export_id}/late': READ,
  'POST /api/v1/bulk-exports/{export_id}/late': WORKSPACE,
  'GET /api/v1/bulk-exports/{export_id}/runs': READ,
  'GET /api/v1/bulk-exports/{export_id}/runs/{run_id}': READ,
  'GET /iceberg/v1/config': READ,
  'GET /iceberg/v1/namespaces': READ,
  'GET /iceberg/v1/namespaces/{namespace}': READ,
  'GET /iceberg/v1/namespaces/{namespace}/tables': READ,
  'GET /iceberg/v1/namespaces/{namespace}/tables/{table}': READ,
  'POST /iceberg/v1/sign/{export_id}': READ,
};

const SECOND_PREFIX =
  /^\/api\/v1(?=\/(runs|public|otel|sessions|feedback|feedback-configs|ingest-problems|model-price-map|datasets|examples|settings|repos|commits|likes)(\/|$))|^\/api(?=\/v1\/platform\/)/;

/**
 * A route's place in the table.
 * @param pattern with parameters as the router (`:run_id`) or as the OpenAPI document (`{run_id}`) spells them
 */
export function routeName(method: string, pattern: string): string {
  const path = documentedPath(pattern).replace(SECOND_PREFIX, '');
  // the router answers HEAD as GET without the body
  return `${method === 'HEAD' ? 'GET' : method} ${path}`;
}

/** The scopes that open a route: only `workspace` for one that is not in the table, or does not exist. */
export function scopesOf(route: string): readonly KeyScope[] {
  return Object.hasOwn(ROUTE_SCOPES, route) ? (ROUTE_SCOPES[route] ?? WORKSPACE) : WORKSPACE;
}
