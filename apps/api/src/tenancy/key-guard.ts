import type { FastifyInstance, FastifyRequest } from 'fastify';
import { apiKeyHash, sameHash } from '#lib/auth';
import { PublicError } from '#lib/errors';
import type { WrongKeys } from '#lib/http';
import { isUuid } from '#lib/resources';
import type { ApiKeys } from '#lib/trace-store';
import { clientAddress } from '../wire/origin-of.js';
import { type AccessRoute, routeName, UNDECLARED } from '../wire/route-access.js';
import { OPERATOR, setCaller } from './caller.js';
import type { Workspaces } from './workspaces.js';

/** Paths that the operator's key may use: it lists, creates and revokes the API keys of any workspace. */
const OPERATOR_PATHS = /^\/api\/v1\/api-key(\/|$)/;

/** The one route that takes tokens for agents. */
const VERIFY = 'POST /auth/verify';

/** The beginning of every operator key; no API key begins so. */
const OPERATOR_KEY_PREFIX = 'apo_';

/**
 * The credential of the operator of this installation. It belongs to no workspace: with the tenant in
 * `X-Tenant-Id` it manages API keys, so that the first key of a workspace can be made, and nothing else.
 */
export class OperatorKey {
  readonly #hash: Buffer;

  constructor(key: string) {
    this.#hash = apiKeyHash(key);
  }

  matches(key: string): boolean {
    return key.startsWith(OPERATOR_KEY_PREFIX) && sameHash(apiKeyHash(key), this.#hash);
  }

  mayCall(path: string): boolean {
    return OPERATOR_PATHS.test(path);
  }
}

function header(request: FastifyRequest, name: string): string | undefined {
  const value = request.headers[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

const BEARER = /^bearer +(\S+) *$/i;

/** `X-Api-Key`, else `Authorization: Bearer`. */
function keyOf(request: FastifyRequest): string | undefined {
  return header(request, 'x-api-key') ?? BEARER.exec(request.headers.authorization ?? '')?.[1];
}

/** Sources in which the guard looks up keys. */
export interface KeyRing {
  readonly keys: Pick<ApiKeys, 'verify' | 'verifyProof'>;
  readonly workspaces: Pick<Workspaces, 'has'>;
  /** Absent when keys are not managed from outside. */
  readonly operator: OperatorKey | undefined;
  readonly wrongKeys: WrongKeys;
}

/**
 * Asks every request for its key before a byte of its body is read.
 *
 * A missing or wrong key is 401, too many wrong ones are 429. A key with the tenant of another is 404, with the same body as any missing thing,
 * so that the answer does not reveal which tenants exist. A route that the scope of the key does not open is 403.
 */
export function guardKeys(server: FastifyInstance, { keys, workspaces, operator, wrongKeys }: KeyRing): void {
  server.addHook('onRequest', async (request) => {
    const path = request.url.split('?', 1)[0] ?? '';
    // declared by the route and never looked up by the sent path: another spelling of a path is the same route
    const { routeAccess: access = UNDECLARED } = (request.routeOptions.config ?? {}) as AccessRoute;
    if (access.kind === 'public') return;
    const key = keyOf(request);
    if (key === undefined)
      throw new PublicError(
        'unauthenticated',
        'An API key is required in the header X-Api-Key or as Authorization: Bearer',
      );
    const tenant = header(request, 'x-tenant-id');
    if (operator?.matches(key)) {
      if (!operator.mayCall(path))
        throw new PublicError('forbidden', 'The operator key manages API keys only');
      if (!isUuid(tenant) || !workspaces.has(tenant)) throw new PublicError('not_found', 'Not Found');
      return setCaller(request, { tenantId: tenant.toLowerCase(), keyId: OPERATOR, scope: 'workspace' });
    }
    const attempt = wrongKeys.begin(clientAddress(request), key);
    const caller = await keys.verify(key);
    if (!caller) throw attempt.wrong(new PublicError('unauthenticated', 'The API key is not valid'));
    attempt.good();
    // before it is known whether the route is open to it: a refusal is recorded with its caller
    setCaller(request, caller);
    if (tenant !== undefined && !(isUuid(tenant) && tenant.toLowerCase() === caller.tenantId))
      throw new PublicError('not_found', 'Not Found');
    const route = routeName(request.method, request.routeOptions.url ?? '');
    if (caller.agent !== undefined && route !== VERIFY)
      throw new PublicError('forbidden', 'A token for an agent opens that agent alone; use an API key');
    if (!access.scopes.includes(caller.scope))
      throw new PublicError(
        'forbidden',
        `An API key of the scope ${caller.scope} may not call this route; use a key of the scope ${access.scopes.join(' or ')}`,
      );
  });
}
