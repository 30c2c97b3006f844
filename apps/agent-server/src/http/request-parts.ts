import type { FastifyRequest } from 'fastify';
import { PublicError } from '#lib/errors';
import { isJsonObject, type JsonObject, parseShort } from '#lib/json';
import { isUuid } from '#lib/resources';

/** Returns true when the client has the current version: `If-None-Match` names this tag. */
export function hasTag(header: string | undefined, etag: string): boolean {
  return (header ?? '')
    .split(',')
    .some((one) => one.trim() === '*' || one.trim().replace(/^W\//, '') === etag);
}

/** No route has this path. */
const OUTSIDE = '/-/outside-the-mount-prefix';

/** Probes of platforms know no prefix. */
const PROBE = /^\/ok(\?|$)/;

/** Requests to a proxy name the server in their first line; a router takes that off as well. */
const AUTHORITY = /^https?:\/\/[^/?#]*/i;

/**
 * Address of a request without the prefix under which the server is mounted. The prefix is compared byte by
 * byte: other spellings of it (`//`, `%2f`, `..`) lead to no route. The rest is left to the router alone, so
 * that the route that is found is the one whose access is checked.
 */
export function withoutPrefix(url: string, prefix: string): string {
  const path = url.replace(AUTHORITY, '');
  const isProbe = PROBE.test(path);
  if (!isProbe && !path.startsWith(prefix)) return OUTSIDE;
  const rest = isProbe ? path : path.slice(prefix.length);
  if (rest === '' || rest.startsWith('?')) return `/${rest}`;
  return rest.startsWith('/') ? rest : OUTSIDE;
}

const MAX_PAGE = 1_000;

export function queryOf({ query }: FastifyRequest): JsonObject {
  return isJsonObject(query) ? query : {};
}

/** Limit longer than any address. */
const MAX_LIST_CHARS = 64 * 1024;

/** A list of a query: one, repeated, or a JSON array, as the client lines differ. */
export function listOf(given: unknown): unknown {
  if (given === undefined || given === '') return undefined;
  return [given].flat().flatMap((part): unknown => {
    if (typeof part !== 'string' || !part.startsWith('[')) return part;
    try {
      return parseShort(part, MAX_LIST_CHARS);
    } catch {
      return part; // no member of the list: refused unchanged
    }
  });
}

/** Returns true when the address names this part. */
export function hasPathPart({ params }: FastifyRequest, name: string): boolean {
  return isJsonObject(params) && name in params;
}

/** A switch of a query. */
export function isTrue(value: unknown): boolean {
  return value === 'true' || value === '1';
}

/** A part of the raw path. */
export function pathPart({ params }: FastifyRequest, name: string): string {
  return isJsonObject(params) ? String(params[name]) : '';
}

/** A uuid of the path. @throws PublicError `invalid` */
export function pathId(request: FastifyRequest, name: string): string {
  const value = pathPart(request, name);
  if (isUuid(value)) return value.toLowerCase();
  throw new PublicError('invalid', `${name} must be a uuid`, [
    { loc: ['path', name], msg: 'must be a uuid', type: 'uuid_parsing' },
  ]);
}

/** The thread of an address that exists with and without one. @throws PublicError `invalid` */
export function threadIdOf(request: FastifyRequest): string | undefined {
  return hasPathPart(request, 'thread_id') ? pathId(request, 'thread_id') : undefined;
}

/** Any text of the path that may go into the database. @throws PublicError `invalid` */
export function pathText(request: FastifyRequest, name: string): string {
  const value = pathPart(request, name);
  if (!value.includes('\u0000')) return value;
  throw new PublicError('invalid', `${name} is not valid`, [
    { loc: ['path', name], msg: 'must not hold a NUL character', type: 'value_error' },
  ]);
}

function count(value: unknown, fallback: number): number {
  const number = Number(value ?? fallback);
  return Number.isInteger(number) && number >= 0 ? Math.min(number, Number.MAX_SAFE_INTEGER) : fallback;
}

/** `limit` and `offset` of a query or a body. */
export function pageOf(given: JsonObject): { limit: number; offset: number } {
  return { limit: Math.min(count(given['limit'], 10), MAX_PAGE), offset: count(given['offset'], 0) };
}
