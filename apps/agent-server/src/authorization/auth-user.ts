import { isJsonObject, type JsonObject, parseShort } from '#lib/json';

/** Refusal of a request by an agent's own handler. */
export class AuthRefusal extends Error {
  override readonly name = 'AuthRefusal';

  constructor(
    readonly status: number,
    readonly detail: string,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(detail);
  }
}

const CHALLENGE = { 'www-authenticate': 'Bearer error="invalid_token"' };

/** A library of the agent found that the token of a request is not valid. */
export function tokenRefusal(): AuthRefusal {
  return new AuthRefusal(401, 'The token is not valid', CHALLENGE);
}

const WORDS: Readonly<Record<number, string>> = {
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not found',
};

/** Headers of the server's own answer. */
const OWN_HEADERS = /^(content-|transfer-encoding$|connection$|keep-alive$|access-control-|vary$|date$)/;

function headersOf(given: unknown): Record<string, string> {
  try {
    const headers = [...new Headers(given as ConstructorParameters<typeof Headers>[0])];
    return Object.fromEntries(headers.filter(([name]) => !OWN_HEADERS.test(name)));
  } catch {
    return {}; // no headers
  }
}

/**
 * The `HTTPException` that a handler threw; it may be a class of another copy of the SDK.
 * @returns undefined for any other error
 */
export function refusalOf(error: unknown): AuthRefusal | undefined {
  if (typeof error !== 'object' || error === null || !('status' in error) || !('headers' in error))
    return undefined;
  const { status, headers } = error;
  if (typeof status !== 'number' || !Number.isInteger(status) || status < 400 || status > 599)
    return undefined;
  const message = 'message' in error && typeof error.message === 'string' ? error.message : '';
  // an error makes this text of an object that it is given as its message
  const words = message === '[object Object]' ? '' : message;
  return new AuthRefusal(status, words || (WORDS[status] ?? 'Refused'), headersOf(headers));
}

/**
 * Caller, as graphs and handlers see it; more fields come from the agent's own handler. It is JSON
 * throughout.
 */
export interface AuthUser extends JsonObject {
  readonly identity: string;
  readonly display_name: string;
  readonly is_authenticated: boolean;
  readonly permissions: readonly string[];
}

/** Limit of a user, who is stored with every run of the caller. */
const MAX_USER_BYTES = 64 * 1024;

function user(identity: string, more: JsonObject): AuthUser {
  return { display_name: identity, is_authenticated: true, permissions: [], ...more, identity };
}

/** The owner of an API key. */
export function userOfKey({ keyId, tenantId }: { keyId: string; tenantId: string }): AuthUser {
  return user(keyId, { tenant_id: tenantId });
}

/** Kind by which handlers recognize a studio: only the server sets it. */
const STUDIO_KIND = 'StudioUser';

/** A person in a studio who holds a key of the workspace. */
export const STUDIO_USER: AuthUser = user('langgraph-studio-user', { kind: STUDIO_KIND });

/** Caller of a server without authentication. */
export const ANONYMOUS: AuthUser = { ...user('anonymous', {}), is_authenticated: false };

/**
 * The user that an authentication handler answered: an identity, or an object with one.
 * @throws AuthRefusal 401 when the answer names no user, for example for a token without a subject
 * @throws Error with any other problem of the answer
 */
export function parseUser(answer: unknown): AuthUser {
  if (isIdentity(answer)) return user(answer, {});
  if (!isJsonObject(answer)) throw unnamed();
  const text = JSON.stringify(answer);
  if (Buffer.byteLength(text) > MAX_USER_BYTES)
    throw new Error(`its user is larger than ${MAX_USER_BYTES} bytes as JSON`);
  // values without JSON are left out: the user is stored with runs
  const { kind, ...others } = parseShort(text, MAX_USER_BYTES) as JsonObject;
  const given: JsonObject = kind === undefined || kind === STUDIO_KIND ? others : { ...others, kind };
  const { identity, permissions, display_name: name, is_authenticated: isAuthenticated } = given;
  if (!isIdentity(identity)) throw unnamed();
  const isList = Array.isArray(permissions) && permissions.every((one) => typeof one === 'string');
  if (permissions !== undefined && permissions !== null && !isList)
    throw new Error('the "permissions" of its user are not a list of texts');
  return {
    ...user(identity, given),
    display_name: typeof name === 'string' ? name : identity,
    is_authenticated: isAuthenticated !== false,
    permissions: isList ? permissions : [],
  };
}

/** Postgres stores no text with NUL. */
function isIdentity(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && !value.includes('\0');
}

function unnamed(): AuthRefusal {
  return new AuthRefusal(
    401,
    'The authentication handler of this agent named no user: "identity" must be a text that is not empty and has no NUL',
  );
}

/**
 * Escapes of characters that are never reserved in addresses (RFC 3986, 2.3): letters, digits, `-`, `.`, `_`
 * and `~`.
 */
const NEEDLESS_ESCAPE = /%(?:2[DE]|3\d|[46][1-9A-F]|[57][0-9A]|5F|7E)/gi;

const DOT_SEGMENT = /^(?:\.|%2e){1,2}$/i;

/** `http://name:port` for a valid host; the rest is the path, from its first `/` on. */
export function baseOf(host = ''): string {
  const base = `http://${host}`;
  return /[@?#\\/]/.test(host) || !URL.canParse(base) ? 'http://localhost' : base;
}

/**
 * The address of a request as a handler judges it: that of the path which the server's router and an app
 * find. A leading `//` is a part of the path, and `%73tore` is `store`.
 * @param target path and query as they were sent
 * @throws AuthRefusal for a path that resolves to another one: with dot segments or backslashes, or for no
 *   path at all
 */
export function judgedAddress(host: string | undefined, target: string): string {
  const [path = ''] = target.split(/[?#]/, 1);
  if (!path.startsWith('/') || path.includes('\\') || path.split('/').some((part) => DOT_SEGMENT.test(part)))
    throw new AuthRefusal(
      400,
      'The path can be read in two ways; write it without dot segments and backslashes',
    );
  return baseOf(host) + path.replace(NEEDLESS_ESCAPE, decodeURIComponent) + target.slice(path.length);
}
