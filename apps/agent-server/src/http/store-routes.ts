import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { isJsonObject, type JsonObject } from '#lib/json';
import { MAX_GIVEN_LABELS, requireLabels, requirePlace } from '../memory/item-limits.js';
import type { ItemStore } from '../memory/item-store.js';
import { parseBody, parseInput } from '../run/requested-run.js';
import type { StoredItem } from '../store/row/item-row.js';
import { scopeOf } from './caller-scope.js';
import { isTrue, queryOf } from './request-parts.js';
import { access } from './route-access.js';
import { asJson } from './search-answer.js';

const MAX_ITEMS = 1_000;

/** A hundred years. */
const MAX_TTL_MINUTES = 52_560_000;

/** Not a record of zod, which drops a member named `__proto__`. */
const object = z.custom<JsonObject>(isJsonObject, 'must be an object');
const labels = z.array(z.string()).max(MAX_GIVEN_LABELS);
const page = {
  limit: z.int().min(1).max(MAX_ITEMS).nullish(),
  offset: z.int().min(0).nullish(),
};

const place = z.object({ namespace: labels, key: z.string() });
const putting = place.extend({
  value: object,
  index: z.union([z.literal(false), z.array(z.string()).max(100)]).nullish(),
  ttl: z.number().gt(0).max(MAX_TTL_MINUTES).nullish(),
});
const named = z.object({
  namespace: z.string(),
  key: z.string(),
  refresh_ttl: z.enum(['true', 'false', '1', '0', 'True', 'False']).optional(),
});
const searching = z.object({
  ...page,
  namespace_prefix: labels.nullish(),
  filter: object.nullish(),
  query: z.string().nullish(),
  refresh_ttl: z.boolean().nullish(),
});
const listing = z.object({
  ...page,
  prefix: labels.nullish(),
  suffix: labels.nullish(),
  max_depth: z.int().min(1).max(MAX_ITEMS).nullish(),
});

/** JSON text. @param more members that follow those of the item */
function onWire({ namespace, key, value, createdAt, updatedAt }: StoredItem, more: object = {}): string {
  const place = JSON.stringify({ namespace, key }).slice(0, -1);
  const rest = { created_at: createdAt.toISOString(), updated_at: updatedAt.toISOString(), ...more };
  return `${place},"value":${value},${JSON.stringify(rest).slice(1)}`;
}

export interface StoreRouteParts {
  /** Undefined: the agent has switched the routes off. */
  readonly items: ItemStore;
}

/** Routes of the agent's long-term memory. */
export function registerStoreRoutes(app: FastifyInstance, { items }: StoreRouteParts): void {
  app.put('/store/items', access('store:put'), async (request, reply) => {
    const { namespace, key, value, index, ttl } = parseBody(putting, request.body);
    await items.put(scopeOf(request), { namespace, key, value, index: index ?? undefined, ttlMinutes: ttl });
    return reply.code(204).send();
  });
  app.get('/store/items', access('store:get'), async (request, reply) => {
    const { namespace, key, refresh_ttl: given } = parseInput(named, queryOf(request), 'query');
    const asked = { namespace: namespace.split('.'), key };
    requirePlace(asked);
    const refreshes = given === undefined ? undefined : isTrue(given.toLowerCase());
    const item = await items.get(scopeOf(request), asked, refreshes);
    // JSON, as clients expect it: an empty body is not null
    return asJson(reply, item ? onWire(item) : 'null');
  });
  app.delete('/store/items', access('store:delete'), async (request, reply) => {
    const asked = parseBody(place, request.body);
    requirePlace(asked);
    await items.remove(scopeOf(request), asked);
    return reply.code(204).send();
  });
  app.post('/store/items/search', access('store:search'), async (request, reply) => {
    const body = parseBody(searching, request.body);
    const found = await items.search(scopeOf(request), {
      prefix: body.namespace_prefix ?? [],
      filter: body.filter ?? undefined,
      query: body.query ?? undefined,
      limit: body.limit ?? 10,
      offset: body.offset ?? 0,
      refreshes: body.refresh_ttl ?? undefined,
    });
    const texts = found.map((item) => onWire(item, { score: item.score ?? null }));
    return asJson(reply, `{"items":[${texts.join(',')}]}`);
  });
  app.post('/store/namespaces', access('store:list_namespaces'), async (request) => {
    const body = parseBody(listing, request.body);
    const [prefix, suffix] = [body.prefix ?? [], body.suffix ?? []];
    requireLabels('prefix', prefix);
    const namespaces = await items.namespaces(scopeOf(request), {
      prefix,
      suffix,
      maxDepth: body.max_depth ?? undefined,
      limit: body.limit ?? 100,
      offset: body.offset ?? 0,
    });
    return { namespaces };
  });
}

/** Shapes of requests, for the description of the routes. */
export const STORE_SHAPES = { place, putting, named, searching, listing };
