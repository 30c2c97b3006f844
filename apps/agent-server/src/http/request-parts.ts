import type { FastifyRequest } from 'fastify';
import { PublicError } from '#lib/errors';
import { isUuid } from '#lib/resources';
import type { ApiCaller } from './authenticate.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Who calls; undefined where everybody may. */
    caller: ApiCaller | undefined;
  }
}

const MAX_PAGE = 1_000;

export type Query = Readonly<Record<string, unknown>>;

export function queryOf(request: FastifyRequest): Query {
  return request.query as Query;
}

/** A uuid of the path. @throws PublicError `invalid` */
export function pathId(request: FastifyRequest, name: string): string {
  const value = (request.params as Record<string, unknown>)[name];
  if (isUuid(value)) return value.toLowerCase();
  throw new PublicError('invalid', `${name} must be a uuid`, [
    { loc: ['path', name], msg: 'must be a uuid', type: 'uuid_parsing' },
  ]);
}

/** Any text of the path that may go into the database. @throws PublicError `invalid` */
export function pathText(request: FastifyRequest, name: string): string {
  const value = String((request.params as Record<string, unknown>)[name]);
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
export function pageOf(given: Query): { limit: number; offset: number } {
  return { limit: Math.min(count(given['limit'], 10), MAX_PAGE), offset: count(given['offset'], 0) };
}
