import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { PublicError } from '#lib/errors';
import { UUID_PATTERN } from '#lib/resources';
import type { Clock } from '#lib/time';
import type { Questions } from '../protocol/questions.js';
import { document, MAX_NAMES, parseBody, runConfig, text, uuid7 } from '../run/requested-run.js';
import type { Assistants } from '../assistant/assistants.js';
import { countAssistants, createAssistant, searchAssistants } from '../store/statement/assistants.js';
import type { AssistantSearch } from '../store/row/assistant-row.js';
import type { Scope } from '../store/scope.js';
import type { Sql } from '../store/sql.js';
import { authorize, scopeOf } from './caller-scope.js';
import { hasPathPart, isTrue, pageOf, pathPart, queryOf } from './request-parts.js';
import { access } from './route-access.js';
import { asJson, paginate, selected } from './search-answer.js';

const FIELDS = [
  'assistant_id',
  'graph_id',
  'name',
  'description',
  'config',
  'context',
  'metadata',
  'version',
  'created_at',
  'updated_at',
] as const;

const matching = { graph_id: text.nullish(), name: text.nullish(), metadata: document.nullish() };
const search = z.object({
  ...matching,
  limit: z.int().min(1).max(1000).nullish(),
  offset: z.int().min(0).nullish(),
  sort_by: z.enum(['assistant_id', 'graph_id', 'name', 'created_at', 'updated_at']).nullish(),
  sort_order: z.enum(['asc', 'desc']).nullish(),
  select: z.array(z.enum(FIELDS)).max(MAX_NAMES).nullish(),
});
/** Configuration, kept as it is given; parts that its runs could not have are refused here. */
const config = document.superRefine((given, context) => {
  for (const { path, message } of runConfig.safeParse(given).error?.issues ?? [])
    context.addIssue({ code: 'custom', path, message });
});
const settings = {
  description: text.nullish(),
  config: config.nullish(),
  context: document.nullish(),
  metadata: document.nullish(),
};
const creation = z.object({
  ...settings,
  assistant_id: z.string().regex(UUID_PATTERN, 'must be a uuid').nullish(),
  graph_id: text,
  name: text.nullish(),
  if_exists: z.enum(['raise', 'do_nothing']).nullish(),
});
const change = z.object({ ...settings, graph_id: text.nullish(), name: text.nullish() });
const versions = z.object({
  metadata: document.nullish(),
  limit: z.int().min(1).max(1000).nullish(),
  offset: z.int().min(0).nullish(),
});
const choice = z.object({
  version: z
    .int()
    .min(1)
    .max(2 ** 31 - 1),
});

/** Search given by a body, without the fields that the body leaves out. */
function searchOf({ graph_id, name, metadata }: z.infer<z.ZodObject<typeof matching>>): AssistantSearch {
  return { graphId: graph_id ?? undefined, name: name ?? undefined, metadata: metadata ?? undefined };
}

export interface AssistantRouteParts {
  readonly sql: Sql;
  readonly assistants: Assistants;
  /** Ids of the graphs of this revision. */
  readonly graphs: ReadonlySet<string>;
  readonly hosts: GraphSource;
  readonly clock: Clock;
}

/** Source of the descriptions of graphs. */
interface GraphSource {
  /** @returns JSON text */
  ask<K extends 'drawing' | 'schemas' | 'subgraphs'>(kind: K, question: Questions[K]): Promise<string>;
}

/** Routes about assistants: configured graphs. */
export function registerAssistantRoutes(app: FastifyInstance, parts: AssistantRouteParts): void {
  const { sql, assistants } = parts;

  app.post('/assistants/search', access('assistants:search'), async (request, reply) => {
    const body = parseBody(search, request.body);
    const [wanted, page] = [searchOf(body), pageOf(body)];
    const [found, total] = await Promise.all([
      searchAssistants(scopeOf(request), sql, wanted, {
        ...page,
        sortBy: body.sort_by ?? 'created_at',
        isAscending: body.sort_order === 'asc',
      }),
      countAssistants(scopeOf(request), sql, wanted),
    ]);
    paginate(reply, page, found.length, total);
    return selected(found, body.select);
  });
  app.post('/assistants/count', access('assistants:search'), async (request) =>
    countAssistants(scopeOf(request), sql, searchOf(parseBody(z.object(matching), request.body))),
  );
  app.get('/assistants/:assistant_id', access('assistants:read'), async (request) =>
    assistants.get(...named(request)),
  );
  registerChanges(app, parts);
  registerDescriptions(app, parts);
}

function named(request: FastifyRequest): [Scope, string] {
  return [scopeOf(request), pathPart(request, 'assistant_id')];
}

function registerChanges(
  app: FastifyInstance,
  { sql, assistants, graphs, clock }: AssistantRouteParts,
): void {
  const requireGraph = (graphId: string): void => {
    if (!graphs.has(graphId)) throw new PublicError('not_found', `Graph "${graphId}" not found`);
  };

  app.post('/assistants', access('assistants:create'), async (request) => {
    const body = parseBody(creation, request.body);
    requireGraph(body.graph_id);
    const assistant = {
      assistantId: body.assistant_id?.toLowerCase() ?? uuid7(clock.now()),
      graphId: body.graph_id,
      name: body.name ?? 'Untitled',
      description: body.description ?? undefined,
      config: body.config ?? {},
      context: body.context ?? {},
      metadata: body.metadata ?? {},
    };
    return createAssistant(scopeOf(request), sql, assistant, body.if_exists ?? 'raise');
  });
  app.patch('/assistants/:assistant_id', access('assistants:update'), async (request) => {
    const body = parseBody(change, request.body);
    if (body.graph_id) requireGraph(body.graph_id);
    return assistants.patch(...named(request), {
      ...searchOf(body),
      description: body.description ?? undefined,
      config: body.config ?? undefined,
      context: body.context ?? undefined,
    });
  });
  app.post('/assistants/:assistant_id/versions', access('assistants:read'), async (request) => {
    const body = parseBody(versions, request.body);
    return assistants.versions(...named(request), { ...pageOf(body), metadata: body.metadata ?? undefined });
  });
  app.post('/assistants/:assistant_id/latest', access('assistants:update'), async (request) =>
    assistants.choose(...named(request), parseBody(choice, request.body).version),
  );
  app.delete('/assistants/:assistant_id', access('assistants:delete'), async (request, reply) => {
    const hasThreads = isTrue(queryOf(request)['delete_threads']);
    const ofThreads = hasThreads ? await authorize(request, 'threads:delete', {}) : undefined;
    await assistants.remove(...named(request), ofThreads);
    return reply.code(204).send();
  });
}

/** Routes that describe the graph of an assistant. */
function registerDescriptions(app: FastifyInstance, { assistants, hosts }: AssistantRouteParts): void {
  app.get('/assistants/:assistant_id/graph', access('assistants:read'), async (request, reply) => {
    const { graph_id: graphId } = await assistants.get(...named(request));
    const { xray } = queryOf(request);
    const depth = Number(xray);
    const levels = Number.isInteger(depth) && depth > 1 ? depth : isTrue(xray);
    return asJson(reply, await hosts.ask('drawing', { graphId, xray: levels }));
  });
  app.get('/assistants/:assistant_id/schemas', access('assistants:read'), async (request, reply) => {
    const { graph_id: graphId } = await assistants.get(...named(request));
    return asJson(reply, await hosts.ask('schemas', { graphId }));
  });
  const subgraphs = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const { graph_id: graphId } = await assistants.get(...named(request));
    const namespace = hasPathPart(request, 'namespace') ? pathPart(request, 'namespace') : undefined;
    const recurse = isTrue(queryOf(request)['recurse']);
    return asJson(reply, await hosts.ask('subgraphs', { graphId, namespace, recurse }));
  };
  app.get('/assistants/:assistant_id/subgraphs', access('assistants:read'), subgraphs);
  app.get('/assistants/:assistant_id/subgraphs/:namespace', access('assistants:read'), subgraphs);
}

/** Shapes of requests, for the description of the routes. */
export const ASSISTANT_SHAPES = { search, matching: z.object(matching), creation, change, versions, choice };
