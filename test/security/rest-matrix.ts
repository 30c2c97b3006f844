import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { KEY_SCOPES } from '#lib/auth';
import type { FindArena } from './arena.js';
import { PAGES } from './page-matrix.js';
import { type Named, REST_REQUESTS, type RouteRequest } from './rest-requests.js';
import type { Tenant } from './tenant.js';
import type { HttpAnswer, HttpRequest } from './transcript.js';
import { unknownLike, withoutNames } from './unknown-ids.js';

interface ApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly security?: unknown[] }>>>>;
}

/** Method, path and whether a key is needed, of every route of the document. */
const ROUTES = Object.entries((JSON.parse(readFileSync('docs/openapi.json', 'utf8')) as ApiDocument).paths)
  .flatMap(([path, item]) =>
    Object.entries(item).map(([method, { security }]) => ({ method, path, security })),
  )
  .map(({ method, path, security }) => ({
    method: method.toUpperCase(),
    path,
    isPublic: security?.length === 0,
  }));
const PRIVATE = ROUTES.filter(({ isPublic }) => !isPublic);

type Route = (typeof ROUTES)[number];

function requestOf({ method, path }: Route): RouteRequest {
  const entry = REST_REQUESTS[`${method} ${path}`];
  if (!entry) throw new Error(`${method} ${path} has no entry in test/security/rest-requests.ts`);
  return entry;
}

/** The addresses that name things of `of`; with two ids, also those where one of them is the caller's own. */
function addresses(
  { path }: Route,
  { path: parameters, query }: RouteRequest,
  of: Named,
  own: Named,
): string[] {
  const values = (whose: Named): Readonly<Record<string, string>> => ({
    ...whose.ids,
    ...parameters?.(whose),
  });
  const names = [...path.matchAll(/\{([a-z_]+)\}/g)].map(([, name = '']) => name);
  const filled = (whose: (at: number) => Named): string =>
    names.reduce(
      (text, name, at) => text.replace(`{${name}}`, encodeURIComponent(values(whose(at))[name] ?? '')),
      path,
    ) + (query === undefined ? '' : `?${typeof query === 'string' ? query : query(whose(0))}`);
  // others name nothing: an owner that is always `-`, a tag
  const ids = [...names.keys()].filter((at) => values(of)[names[at] ?? ''] !== values(own)[names[at] ?? '']);
  if (ids.length < 2) return [filled(() => of)];
  return [filled(() => of), ...ids.map((foreign) => filled((at) => (at === foreign ? of : own)))];
}

/** Every request that the table makes of `of`'s ids. */
function requests(route: Route, of: Named, own: Named): { readonly path: string; readonly body?: unknown }[] {
  const entry = requestOf(route);
  const bodies = entry.bodies?.(of, own) ?? [undefined];
  return addresses(route, entry, of, own).flatMap((path) => bodies.map((body) => ({ path, body })));
}

/** What the victim sees of its own things. */
const OWN_VIEW = [
  '/v2/deployments?limit=100',
  '/v2/deployments/{deployment_id}/revisions',
  '/v2/listeners',
  '/v1/integrations/git_host/install',
  '/sessions',
  '/runs/{run_id}',
  '/runs/{posted_run_id}',
  '/runs/{patched_run_id}',
  '/feedback/{feedback_id}',
  '/feedback/{posted_feedback_id}',
  '/feedback-configs',
  '/repos/-/{prompt_name}',
  '/repos/-/{prompt_name}/tags',
  '/commits/-/{prompt_name}',
  '/datasets/{dataset_id}/versions',
  '/examples/{example_id}',
  '/api/v1/api-key?include_revoked=true',
  '/api/v1/bulk-exports',
  '/api/v1/bulk-exports/{export_id}/runs',
  '/api/v1/bulk-exports/destinations',
];

async function viewOf({ rest, ids }: Tenant): Promise<string> {
  const values: Readonly<Record<string, string>> = { ...ids };
  const seen = OWN_VIEW.map(async (path) => {
    const address = path.replace(/\{([a-z_]+)\}/, (_, name: string) => values[name] ?? '');
    const { status, body } = await rest.get(address);
    return `${path} ${status} ${JSON.stringify(body)}`;
  });
  // keys are used by the attack itself, and listeners report every few seconds
  return (await Promise.all(seen))
    .join('\n')
    .replaceAll(/"(last_used_at|updated_at|tested_at)":("[^"]*"|null)/g, '');
}

/** Tenancy: every route of the REST interface against every wrong caller. */
export function attackRest(arena: FindArena): void {
  describe('REST matrix', () => {
    const send = (route: Route, { path, body }: { path: string; body?: unknown }, more: HttpRequest) =>
      arena().transcript.call(route.method, arena().restUrl + path, { ...more, body });

    /** Sends what the table has for the route with the ids of `of`. */
    const sendAll = async (route: Route, of: Named, caller: HttpRequest): Promise<HttpAnswer[]> => {
      const answers: HttpAnswer[] = [];
      for (const request of requests(route, of, arena().attacker))
        answers.push(await send(route, request, caller));
      return answers;
    };

    it('covers the document that the platform serves', async () => {
      const { text } = await arena().transcript.call('GET', `${arena().restUrl}/openapi.json`);
      const served = (JSON.parse(text) as ApiDocument).paths;
      const names = Object.entries(served).flatMap(([path, item]) =>
        Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
      );
      expect(names.sort()).toEqual(ROUTES.map(({ method, path }) => `${method} ${path}`).sort());
    });

    it('opens without a key what says nothing of any tenant, and what has a secret in its path', () => {
      const open = ROUTES.filter(({ isPublic }) => isPublic).map(({ method, path }) => `${method} ${path}`);
      const secret = ['/feedback', '/api/v1/feedback'].flatMap((path) =>
        ['GET', 'POST'].map((method) => `${method} ${path}/tokens/{token}`),
      );
      // pages, which ask for a key by a form
      secret.push('GET /console', 'GET /o', 'GET /sign-in', 'POST /sign-in', 'POST /sign-out');
      secret.push(...PAGES.map(([route]) => route));
      // by the signature of its body
      secret.push('POST /v1/integrations/git_host/{integration_id}/webhook/{tenant_id}');
      // by a key as the secret of a client
      secret.push('POST /iceberg/v1/oauth/tokens');
      // by a token that is signed for one attachment, or a random one that opens one trace
      secret.push('GET /attachments/{token}', 'PUT /uploads/{token}');
      secret.push(
        ...['GET run/{run_id}', 'POST runs/query'].map((route) =>
          route.replace(' ', ' /api/v2/public/{share_token}/'),
        ),
      );
      for (const prefix of ['', '/api/v1'])
        secret.push(
          ...['GET run', 'GET run/{run_id}', 'GET r', 'POST runs/query'].map((route) =>
            route.replace(' ', ` ${prefix}/public/{share_token}/`),
          ),
        );
      expect(open.sort()).toEqual(['GET /ok', 'GET /info', 'GET /api/v1/info', ...secret].sort());
    });

    it.each(PRIVATE)('refuses callers without a valid key: $method $path', async (route) => {
      const { victim, attacker } = arena();
      const before = await viewOf(victim);
      const callers: Readonly<Record<string, HttpRequest>> = {
        'no key': {},
        'no key with the tenant': { tenant: victim.tenantId },
        garbage: { key: 'garbage' },
        'a key of the right form': { key: `apk_${'A'.repeat(12)}_${'A'.repeat(30)}` },
        'the id of a key with another secret': { key: victim.keys.workspace.slice(0, -6) + 'AAAAAA' },
        'garbage as bearer': { headers: { authorization: 'Bearer garbage' } },
        'a key by a scheme that is none': { headers: { authorization: `Basic ${victim.keys.workspace}` } },
        'two keys': { key: `${attacker.keys.workspace}, ${victim.keys.workspace}` },
        'an expired key': { key: victim.keys.expired },
        'a revoked key': { key: victim.keys.revoked },
      };
      const wrong: string[] = [];
      for (const [name, caller] of Object.entries(callers))
        for (const { status, text } of (await sendAll(route, victim, caller)).slice(0, 1))
          // 429: one address may send so many wrong keys a minute
          if (status !== 401 && status !== 429) wrong.push(`${name}: ${status} ${text}`);
      expect(wrong).toEqual([]);
      expect(await viewOf(victim)).toBe(before);
    });

    it.each(PRIVATE)('hides what another tenant has: $method $path', async (route) => {
      const { victim, attacker } = arena();
      const before = await viewOf(victim);
      const wrong: string[] = [];
      const nothing = unknownLike(victim);
      for (const scope of KEY_SCOPES) {
        const caller = { key: attacker.keys[scope] };
        const [foreign, missing] = [
          await sendAll(route, victim, caller),
          await sendAll(route, nothing, caller),
        ];
        const { own } = requestOf(route);
        for (const [at, answer] of foreign.entries()) {
          if (own !== undefined && answer.text.includes(own)) continue;
          const [seen, expected] = [answer, missing[at]].map(
            (one, of) => one && withoutNames(one, of === 0 ? victim : nothing),
          );
          if (seen !== expected) wrong.push(`${scope}: ${seen}\n  instead of ${expected}`);
          if (/\{/.test(route.path) && route.method !== 'PATCH' && answer.status < 400)
            wrong.push(`${scope}: ${answer.status} for a foreign id`);
        }
      }
      expect(wrong).toEqual([]);
      expect(await viewOf(victim)).toBe(before);
    });

    it.each(PRIVATE)('shows nothing of another tenant: $method $path', async (route) => {
      const { victim, attacker } = arena();
      const before = await viewOf(victim);
      const wrong: string[] = [];
      const own = await sendAll(route, unknownLike(victim), { key: attacker.keys.workspace });
      const names = Object.entries({ ...victim.ids, tenant: victim.tenantId, project: victim.project });
      for (const { text } of own)
        for (const [name, id] of names)
          if (text.includes(id) && !requestOf(route).tells?.includes(name))
            wrong.push(`${name} of the victim in ${text}`);
      const tenants: Readonly<Record<string, HttpRequest>> = {
        "the victim's tenant": { key: attacker.keys.workspace, tenant: victim.tenantId },
        'an unknown tenant': { key: attacker.keys.workspace, tenant: randomUUID() },
        'no uuid': { key: attacker.keys.workspace, tenant: 'default' },
        'two tenants': {
          key: attacker.keys.workspace,
          tenant: `${attacker.tenantId}, ${victim.tenantId}`,
        },
        "the victim's key and another tenant": { key: victim.keys.workspace, tenant: attacker.tenantId },
      };
      const seen = new Set<string>();
      for (const [name, caller] of Object.entries(tenants))
        for (const answer of (await sendAll(route, victim, caller)).slice(0, 1)) {
          seen.add(withoutNames(answer, victim));
          if (answer.status !== 404) wrong.push(`${name}: ${answer.status} ${answer.text}`);
        }
      expect(wrong).toEqual([]);
      expect([...seen]).toHaveLength(1);
      expect(await viewOf(victim)).toBe(before);
    });
  });
}

/** The rows above would hold on a server that refuses everything: each route opens to whom it belongs. Runs last. */
export function openRest(arena: FindArena): void {
  describe('REST routes with the ids of their owner', () => {
    // what deletes comes last, and parts before that to which they belong
    const place = ({ method, path }: (typeof PRIVATE)[number]): number => {
      if (method !== 'DELETE' && !path.endsWith('/delete')) return 0;
      return DELETED_FIRST.findIndex((part) => path.includes(part)) + 1 || DELETED_FIRST.length + 1;
    };
    const ordered = [...PRIVATE].sort((a, b) => place(a) - place(b));

    it.each(ordered)('answers its owner: $method $path', async (route) => {
      const { victim, restUrl } = arena();
      const isSecondDelete =
        route.method === 'DELETE' &&
        /^\/api\/v1\/(sessions|feedback|model-price-map|datasets|examples|repos)/.test(route.path);
      const statuses: number[] = [];
      for (const { path, body } of requests(route, victim, victim)) {
        const answer = await arena().transcript.call(route.method, restUrl + path, {
          key: victim.keys.workspace,
          tenant: victim.tenantId,
          body,
        });
        statuses.push(answer.status);
      }
      // some bodies are wrong for everybody
      const expected = isSecondDelete ? [404] : EXPECTED[`${route.method} ${route.path}`];
      if (expected) expect(statuses).toEqual(expected);
      else expect(statuses.filter((status) => status >= 300)).toEqual([]);
    });
  });
}

const DELETED_FIRST = [
  '/share',
  '/feedback/',
  '/model-price-map/',
  '/tags/',
  '/repos/',
  '/examples',
  '/datasets/',
  '/runs/',
  '/sessions/',
];

/** Where the owner's requests are not all accepted. */
const EXPECTED: Readonly<Record<string, readonly number[]>> = {
  'POST /sessions': [409, 409, 200],
  'POST /api/v1/sessions': [409],
  ...Object.fromEntries(
    ['/v1', '/api/v1'].flatMap((prefix) => [
      [`POST ${prefix}/platform/datasets/{dataset_id}/examples`, [409, 201]],
      [`PATCH ${prefix}/platform/datasets/{dataset_id}/examples`, [200, 404]],
    ]),
  ),
  'POST /v1/platform/datasets/examples/delete': [200, 404],
  'POST /api/v1/platform/datasets/examples/delete': [404, 404],
  'POST /v2/deployments': [201, 409],
  // namespaces are a remote listener's, and this one has deployments
  'PATCH /v2/listeners/{listener_id}': [422],
  'DELETE /v2/listeners/{listener_id}': [409],
  'POST /api/v1/bulk-exports/destinations': [422],
  'PATCH /api/v1/bulk-exports/{export_id}': [400],
  'POST /api/v1/bulk-exports/{export_id}/continue': [400],
  'POST /otel/v1/metrics': [400],
  'POST /api/v1/otel/v1/metrics': [400],
  'POST /otel/v1/logs': [400],
  'POST /api/v1/otel/v1/logs': [400],
  // its image does not come from archives
  'POST /v2/deployments/{deployment_id}/upload-url': [400],
  'GET /v2/deployments/{deployment_id}/archives/{archive_id}': [404],
  'POST /v2/deployments/{deployment_id}/push-token': [400],
  // an export uses it
  'DELETE /api/v1/bulk-exports/destinations/{destination_id}': [409],
  // the export has no table
  'GET /iceberg/v1/namespaces/{namespace}': [404],
  'GET /iceberg/v1/namespaces/{namespace}/tables': [404],
  'GET /iceberg/v1/namespaces/{namespace}/tables/{table}': [404],
  'POST /iceberg/v1/sign/{export_id}': [404],
  // its days are not sealed
  'POST /iceberg/v1/sign/projects/{project_id}': [404],
};
