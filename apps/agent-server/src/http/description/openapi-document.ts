import { z } from 'zod';
import { PLATFORM_VERSION } from '#lib/config';
import type { OpenapiSecurity } from '#lib/graph-configuration';
import { DESCRIBED_ROUTES, type DescribedRoute } from './described-routes.js';

const ID = '01a21c0e-37ca-7422-87fe-91720d2bd592';
const QUESTION = { messages: [{ role: 'user', content: 'what is 2 + 40?' }] };
const RUN = { assistant_id: 'agent', input: QUESTION };
const DAILY = { ...RUN, schedule: '0 9 * * *' };
const PLACE = { namespace: ['users', 'ada'], key: 'profile' };
const SENT = {
  jsonrpc: '2.0',
  id: '1',
  method: 'message/send',
  params: {
    message: { role: 'user', messageId: '1', parts: [{ kind: 'text', text: 'what is 2 + 40?' }] },
  },
};

/** A body for each route that takes one; its shape allows it. */
export const BODY_EXAMPLES: Readonly<Record<string, unknown>> = {
  'POST /assistants': { graph_id: 'agent', name: 'short answers', metadata: { team: 'support' } },
  'POST /assistants/search': { graph_id: 'agent', limit: 10 },
  'POST /assistants/count': { graph_id: 'agent' },
  'PATCH /assistants/:assistant_id': { name: 'shorter answers' },
  'POST /assistants/:assistant_id/versions': { limit: 10 },
  'POST /assistants/:assistant_id/latest': { version: 1 },

  'POST /threads': { metadata: { person: 'ada' } },
  'POST /threads/search': { metadata: { person: 'ada' }, limit: 10 },
  'POST /threads/count': { metadata: { person: 'ada' } },
  'PATCH /threads/:thread_id': { metadata: { topic: 'sums' } },
  'POST /threads/erase': { metadata: { person: 'ada' }, dry_run: true },
  'POST /threads/prune': { thread_ids: [ID], strategy: 'keep_latest' },
  'POST /threads/:thread_id/state/checkpoint': { checkpoint: { checkpoint_id: ID } },
  'POST /threads/:thread_id/state': { values: QUESTION },
  'PATCH /threads/:thread_id/state': { metadata: { checked: true } },
  'POST /threads/:thread_id/history': { limit: 10 },
  'POST /threads/:thread_id/commands': { id: 1, method: 'run.start', params: RUN },
  'POST /threads/:thread_id/stream/events': { channels: ['messages'] },

  'POST /threads/:thread_id/runs': RUN,
  'POST /threads/:thread_id/runs/wait': RUN,
  'POST /threads/:thread_id/runs/stream': { ...RUN, stream_mode: ['messages'] },
  'POST /runs': RUN,
  'POST /runs/wait': RUN,
  'POST /runs/stream': { ...RUN, stream_mode: ['messages'] },
  'POST /runs/batch': [RUN],
  'POST /runs/cancel': { status: 'pending' },

  'POST /runs/crons': DAILY,
  'POST /threads/:thread_id/runs/crons': DAILY,
  'POST /runs/crons/search': { limit: 10 },
  'POST /runs/crons/count': { assistant_id: ID },
  'PATCH /runs/crons/:cron_id': { enabled: false },

  'PUT /store/items': { ...PLACE, value: { name: 'Ada' } },
  'DELETE /store/items': PLACE,
  'POST /store/items/search': { namespace_prefix: ['users'], limit: 10 },
  'POST /store/namespaces': { prefix: ['users'] },

  'POST /a2a/:assistant_id': SENT,
  'POST /mcp': { jsonrpc: '2.0', id: 1, method: 'tools/list' },
  'POST /ag-ui/:assistant_id': {
    threadId: ID,
    runId: 'run-1',
    state: {},
    messages: [{ id: 'message-1', role: 'user', content: 'what is 2 + 3?' }],
    tools: [],
    context: [],
  },
  'POST /ui/:assistant_id': { name: 'card' },
};

type Json = Readonly<Record<string, unknown>>;

type Described = Pick<OpenapiSecurity, 'securitySchemes' | 'security'> & Partial<OpenapiSecurity>;

export interface ServedRoutes {
  /** Names as `METHOD /path/:parameter`. */
  readonly names: readonly string[];
  /** Prefix of every path; empty without one. */
  readonly prefix: string;
  /**
   * Login of users of an agent with handlers of its own, as its settings describe it; keys of the platform by
   * default.
   */
  readonly security?: Described | undefined;
}

/** Answered without a key. */
const OPEN = new Set([
  'GET /ok',
  'GET /info',
  'GET /openapi.json',
  'GET /docs',
  'GET /chat',
  'GET /ui/:name/:file',
]);

/** Keys of the platform. */
const KEYS: Described = {
  securitySchemes: {
    ApiKey: { type: 'apiKey', in: 'header', name: 'X-Api-Key' },
    Bearer: { type: 'http', scheme: 'bearer' },
  },
  security: [{ ApiKey: [] }, { Bearer: [] }],
};

const CONTENT = { events: 'text/event-stream', text: 'text/plain', page: 'text/html' } as const;

function refusal(description: string, detail: Json): Json {
  const schema = { type: 'object', properties: { detail }, required: ['detail'] };
  return { description, content: { 'application/json': { schema } } };
}

const SENTENCE = { type: 'string' };
const REFUSALS = {
  401: refusal('The key is missing or not accepted', SENTENCE),
  404: refusal('Nothing has that id or name', SENTENCE),
  422: refusal('Body or query break the schema; says where', {
    anyOf: [SENTENCE, { type: 'array', items: { type: 'object' } }],
  }),
};
const ERROR = refusal('Refused, with what is wrong', SENTENCE);

/** Routes whose answers and refusals are those of JSON-RPC. */
const CALLS = new Set(['POST /a2a/:assistant_id', 'POST /mcp']);

function refusalsOf(name: string, { body, query }: DescribedRoute): Json {
  return {
    ...(OPEN.has(name) ? {} : { 401: REFUSALS[401] }),
    ...(name.includes('/:') ? { 404: REFUSALS[404] } : {}),
    ...((body ?? query) && !CALLS.has(name) ? { 422: REFUSALS[422] } : {}),
    default: ERROR,
  };
}

/** Schema of a request; conditions that only code can check are left to the server's answer. */
function schemaOf(shape: z.ZodType): Json {
  const { $schema: _, ...schema } = z.toJSONSchema(shape, { io: 'input', unrepresentable: 'any' });
  return schema;
}

function contentOf(name: string, body: z.ZodType): Json {
  return { schema: schemaOf(body), example: BODY_EXAMPLES[name] };
}

function parametersOf(path: string, query: z.ZodObject | undefined): readonly Json[] {
  const inPath = [...path.matchAll(/:([a-z_]+)/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
  const inQuery = Object.entries(query?.shape ?? {}).map(([name, shape]) => ({
    name,
    in: 'query',
    required: false,
    schema: schemaOf(shape as z.ZodType),
  }));
  return [...inPath, ...inQuery];
}

function answerOf({ answers }: DescribedRoute): Json {
  if (answers === 'nothing') return { 204: { description: 'Done' } };
  const type = answers === undefined ? 'application/json' : CONTENT[answers];
  return { 200: { description: 'Done', content: { [type]: { schema: {} } } } };
}

/** @param security in place of that of the document */
function operationOf(name: string, path: string, security: readonly Json[] | undefined): Json {
  const route: DescribedRoute = DESCRIBED_ROUTES[name] ?? { about: 'Not described' };
  const { about, body, query } = route;
  return {
    operationId: name.toLowerCase().replace(/[^a-z0-9]+/g, '_'),
    tags: [path.split('/')[1] ?? ''].map((first) =>
      DESCRIBED_ROUTES[name] && /^(ok|info|metrics|openapi\.json|docs|chat)$/.test(first) ? 'server' : first,
    ),
    summary: about,
    parameters: parametersOf(path, query),
    ...(body ? { requestBody: { content: { 'application/json': contentOf(name, body) } } } : {}),
    responses: { ...answerOf(route), ...refusalsOf(name, route) },
    ...(OPEN.has(name) ? { security: [] } : security ? { security } : {}),
  };
}

/**
 * The OpenAPI document of the routes that a server has registered. Bodies and queries are described by the shapes that
 * check them.
 */
export function openapiDocument({ names, prefix, security: asked = KEYS }: ServedRoutes): Json {
  const { securitySchemes, security, paths: own = {} } = asked;
  const paths: Record<string, Record<string, Json>> = {};
  for (const name of names) {
    const [method = '', path = ''] = name.split(' ');
    if (method === 'HEAD') continue;
    const shown = path.replace(/:([a-z_]+)/g, '{$1}');
    const verb = method.toLowerCase();
    (paths[shown] ??= {})[verb] = operationOf(name, path, own[shown]?.[verb] ?? own[shown]?.[method]);
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Agent server', version: PLATFORM_VERSION },
    ...(prefix === '' ? {} : { servers: [{ url: prefix }] }),
    paths,
    components: { securitySchemes },
    security,
  };
}
