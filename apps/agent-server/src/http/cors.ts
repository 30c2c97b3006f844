import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { errorText, TerminalError } from '#lib/errors';
import type { CorsSettings } from '#lib/graph-configuration';
import { REASON } from '#lib/resources';

/** Headers that SDKs in pages read. */
const EXPOSED = ['content-location', 'location', 'x-pagination-next', 'x-pagination-total', 'x-request-id'];
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
const ANY = ['*'];
/** Limit of an origin: a scheme, a name of 253 characters and a port. */
const LONGEST_ORIGIN = 300;

/** Policy for pages that may read answers, and their requests. */
export interface CorsPolicy {
  readonly isAny: boolean;
  admits(origin: string): boolean;
  readonly exposed: string;
  readonly methods: string;
  /** Undefined: the headers that the page asks for. */
  readonly headers: string | undefined;
  readonly allowsCredentials: boolean;
  readonly maxAgeSeconds: number | undefined;
}

/**
 * @param origins of the deployment; anything but `*` comes before the setting of the agent
 * @param agent `http.cors` of the agent
 * @param matches whether an origin matches the agent's pattern
 */
function corsPolicyOf(
  origins: readonly string[],
  agent?: CorsSettings,
  matches: (origin: string) => boolean = () => false,
): CorsPolicy {
  const isOfAgent = agent !== undefined && origins.includes('*');
  const allowed = (isOfAgent ? agent.origins : origins).map((origin) => origin.toLowerCase());
  const listOf = (given: readonly string[] | undefined): readonly string[] =>
    given && given.length > 0 && !given.includes('*') ? given : [];
  const methods = listOf(agent?.methods);
  const headers = listOf(agent?.headers);
  return {
    isAny: allowed.includes('*'),
    admits: (origin) =>
      origin.length <= LONGEST_ORIGIN &&
      (allowed.includes(origin.toLowerCase()) || (isOfAgent && matches(origin))),
    exposed: [
      ...new Set([...EXPOSED, ...(agent?.exposedHeaders ?? []).map((name) => name.toLowerCase())]),
    ].join(','),
    methods: (methods.length > 0 ? methods : METHODS).join(','),
    headers: headers.length > 0 ? headers.join(',') : undefined,
    allowsCredentials: agent?.allowsCredentials === true && !allowed.includes('*'),
    maxAgeSeconds: agent?.maxAgeSeconds,
  };
}

/** True for a page of the server's own host, and for a client that is no page. */
export function isOwnPage({ origin, host }: Pick<IncomingHttpHeaders, 'origin' | 'host'>): boolean {
  return origin === undefined || (URL.canParse(origin) && new URL(origin).host === host);
}

/**
 * The origin of a page that may not read answers, cut to 200 characters. Undefined for pages of the server's own host, and
 * for clients that are no pages.
 */
export function refusedOrigin(
  policy: CorsPolicy,
  headers: Pick<IncomingHttpHeaders, 'origin' | 'host'>,
): string | undefined {
  const { origin } = headers;
  if (origin === undefined || isOwnPage(headers)) return undefined;
  return policy.isAny || policy.admits(origin) ? undefined : origin.slice(0, 200);
}

/** The end of a refusal of a page, with what to do. */
export const MAY_NOT_READ =
  'the origin may not read answers; add it to CORS_ALLOW_ORIGINS of the deployment or http.cors of langgraph.json';

/** Any page: every answer needs a key, and browsers send none by themselves. */
export const ANY_PAGE = corsPolicyOf(ANY);

/**
 * Sets the headers that let pages read an answer.
 * @returns true when the request was a preflight and is answered by these alone
 */
export function allowOrigins(
  policy: CorsPolicy,
  { method, headers }: FastifyRequest,
  { raw }: FastifyReply,
): boolean {
  const isPreflight = method === 'OPTIONS';
  const varies = [
    ...(policy.isAny ? [] : ['origin']),
    ...(isPreflight ? ['access-control-request-headers'] : []),
  ];
  // set on the raw answer: streams write their own head
  if (varies.length > 0) raw.setHeader('vary', varies.join(', '));
  const { origin } = headers;
  const admitted = origin !== undefined && policy.admits(origin) ? origin : undefined;
  const allowed = policy.isAny ? '*' : admitted;
  if (allowed !== undefined) {
    raw.setHeader('access-control-allow-origin', allowed);
    raw.setHeader('access-control-expose-headers', policy.exposed);
    if (policy.allowsCredentials) raw.setHeader('access-control-allow-credentials', 'true');
  }
  if (isPreflight && allowed !== undefined) {
    raw.setHeader('access-control-allow-methods', policy.methods);
    const asked = headers['access-control-request-headers'] ?? '*';
    raw.setHeader('access-control-allow-headers', policy.headers ?? asked);
    // a page of the internet asks so for an agent on the machine of its reader
    if (headers['access-control-request-private-network'] === 'true')
      raw.setHeader('access-control-allow-private-network', 'true');
    if (policy.maxAgeSeconds !== undefined) raw.setHeader('access-control-max-age', policy.maxAgeSeconds);
  }
  return isPreflight;
}

/**
 * The policy of a server. Patterns are matched in linear time: any client may send an origin, and one that a
 * backtracking engine takes seconds for would stop every stream.
 * @throws TerminalError (`GraphLoadFailed`) for a pattern that cannot be used
 */
export async function loadCors(
  origins: readonly string[],
  agent: CorsSettings | undefined,
): Promise<CorsPolicy> {
  if (agent?.originPattern === undefined) return corsPolicyOf(origins, agent);
  const { RE2JS } = await import('re2js');
  try {
    const pattern = RE2JS.compile(agent.originPattern);
    return corsPolicyOf(origins, agent, (origin) => pattern.matches(origin));
  } catch (error) {
    throw new TerminalError(
      REASON.graphLoadFailed,
      `langgraph.json: "http": cors.allow_origin_regex cannot be used: ${errorText(error)}; look-around and back-references are not supported`,
    );
  }
}
