import { randomUUID } from 'node:crypto';
import type { Named, RouteRequest } from './rest-requests.js';

const upload = ({ ids }: Named): readonly FormData[] =>
  [ids.example_id, randomUUID()].map((id) => {
    const form = new FormData();
    form.append(id, new Blob(['{"metadata": {"attack": true}}'], { type: 'application/json' }));
    return form;
  });
const AS_OF = 'as_of=2030-01-01';

/** Below `/datasets`, `/examples` and `/platform/datasets`. */
const REQUESTS: Readonly<Record<string, RouteRequest>> = {
  'GET /datasets': { query: ({ ids }) => `name_contains=%25&id=${ids.dataset_id}` },
  'POST /datasets': { bodies: () => [{ name: `attack ${randomUUID()}` }] },
  'GET /datasets/{dataset_id}': {},
  'PATCH /datasets/{dataset_id}': { bodies: () => [{ name: 'attack' }, { metadata: { attack: true } }] },
  'DELETE /datasets/{dataset_id}': {},
  'GET /datasets/{dataset_id}/versions': {},
  'GET /datasets/{dataset_id}/version': { query: 'tag=latest' },
  'PUT /datasets/{dataset_id}/tags': { bodies: () => [{ as_of: '2030-01-01', tag: 'attack' }] },
  'GET /datasets/{dataset_id}/versions/diff': { query: 'from_version=2020-01-01&to_version=latest' },
  'GET /datasets/{dataset_id}/splits': { query: AS_OF },
  'PUT /datasets/{dataset_id}/splits': {
    bodies: ({ ids }) => [{ split_name: 'attack', examples: [ids.example_id] }],
  },
  'POST /datasets/{dataset_id}/runs': { bodies: ({ ids }) => [{ session_ids: [ids.experiment_id] }] },
  'POST /api/v2/datasets/{dataset_id}/experiment-runs': {
    bodies: ({ ids }) => [{ experiment_ids: [ids.experiment_id] }],
  },
  'GET /examples': { query: ({ ids }) => `id=${ids.example_id}&${AS_OF}` },
  'DELETE /examples': { query: ({ ids }) => `example_ids=${ids.deleted_example_id}` },
  'GET /examples/{example_id}': { query: AS_OF },
  'DELETE /examples/{example_id}': {},
  'POST /platform/datasets/{dataset_id}/examples': { bodies: upload },
  'PATCH /platform/datasets/{dataset_id}/examples': { bodies: upload },
  'POST /platform/datasets/examples/delete': {
    bodies: ({ ids }) => [
      { example_ids: [ids.erased_example_id], hard_delete: true },
      { example_ids: [ids.erased_example_id] },
    ],
  },
};

/** Under both of their prefixes. */
export const DATASET_REQUESTS: Readonly<Record<string, RouteRequest>> = Object.fromEntries(
  Object.entries(REQUESTS).flatMap(([route, request]) => {
    const [method = '', path = ''] = route.split(' ');
    const bare = path.startsWith('/platform/') ? `/v1${path}` : path;
    return [bare, `/api/v1${path}`].map((one) => [`${method} ${one}`, request]);
  }),
);
