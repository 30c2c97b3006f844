import { randomUUID } from 'node:crypto';
import type { RouteRequest } from './rest-requests.js';
import { priceOf } from './tenant.js';

const WRITE: RouteRequest = { bodies: () => [priceOf(`attack ${randomUUID()}`)] };

/** Below `/model-price-map`. */
const REQUESTS: Readonly<Record<string, RouteRequest>> = {
  'GET /model-price-map': { query: 'q=model' },
  'POST /model-price-map': WRITE,
  'PUT /model-price-map': WRITE,
  'GET /model-price-map/unmatched': { query: ({ ids }) => `session_id=${ids.session_id}` },
  'POST /model-price-map/apply': { bodies: ({ ids }) => [{ session_id: ids.session_id }] },
  'GET /model-price-map/apply': {},
  'GET /model-price-map/apply/{application_id}': {},
  'PUT /model-price-map/{price_id}': { bodies: () => [priceOf('attack'), { disabled: true }] },
  'DELETE /model-price-map/{price_id}': {},
};

/** Under both of their prefixes. */
export const PRICE_REQUESTS: Readonly<Record<string, RouteRequest>> = Object.fromEntries(
  Object.entries(REQUESTS).flatMap(([route, request]) => [
    [route, request],
    [route.replace(' ', ' /api/v1'), request],
  ]),
);
