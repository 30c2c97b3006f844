import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { PublicError } from '#lib/errors';
import { UUID_PATTERN } from '#lib/resources';
import type { Clock } from '#lib/time';
import type { GraphRegistry } from '../graph/graph-registry.js';
import { parseBody, record, text } from '../run/request-shapes.js';
import { uuid7 } from '../run/uuid7.js';
import type { Assistants } from '../assistant/assistants.js';
import { createAssistant } from '../store/assistant/create-assistant.js';
import { searchAssistants } from '../store/assistant/search-assistants.js';
import type { WireAssistant } from '../store/row/assistant-row.js';
import type { Sql } from '../store/sql.js';
import { scopeOf } from './caller-scope.js';
import { pageOf, pathPart, queryOf } from './request-parts.js';

const search = z.object({
  graph_id: text.nullish(),
  name: text.nullish(),
  metadata: record.nullish(),
  limit: z.int().min(1).max(1000).nullish(),
  offset: z.int().min(0).nullish(),
});
const creation = z.object({
  assistant_id: z.string().regex(UUID_PATTERN, 'must be a uuid').nullish(),
  graph_id: text,
  name: text.nullish(),
  description: text.nullish(),
  config: record.nullish(),
  context: record.nullish(),
  metadata: record.nullish(),
  if_exists: z.enum(['raise', 'do_nothing']).nullish(),
});

export interface AssistantRouteParts {
  readonly sql: Sql;
  readonly assistants: Assistants;
  readonly graphs: GraphRegistry;
  readonly clock: Clock;
}

/** Routes about assistants: configured graphs. */
export function registerAssistantRoutes(app: FastifyInstance, parts: AssistantRouteParts): void {
  const { sql, assistants, graphs, clock } = parts;
  const named = (request: FastifyRequest): Promise<WireAssistant> =>
    assistants.get(scopeOf(request), pathPart(request, 'assistant_id'));

  app.post('/assistants/search', async (request) => {
    const body = parseBody(search, request.body);
    return searchAssistants(scopeOf(request), sql, {
      graphId: body.graph_id ?? undefined,
      name: body.name ?? undefined,
      metadata: body.metadata ?? undefined,
      ...pageOf(body),
    });
  });
  app.post('/assistants', async (request) => {
    const body = parseBody(creation, request.body);
    if (!graphs.has(body.graph_id)) throw new PublicError('not_found', `Graph "${body.graph_id}" not found`);
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
  app.get('/assistants/:assistant_id', named);
  app.delete('/assistants/:assistant_id', async (request, reply) => {
    await assistants.remove(scopeOf(request), pathPart(request, 'assistant_id'));
    return reply.code(204).send();
  });
  app.get('/assistants/:assistant_id/graph', async (request) => {
    const graph = await graphs.get((await named(request)).graph_id);
    const { xray } = queryOf(request);
    const depth = Number(xray);
    const drawn = await graph.getGraphAsync?.({
      xray: Number.isInteger(depth) && depth > 1 ? depth : xray === 'true',
    });
    return drawn?.toJSON() ?? { nodes: [], edges: [] };
  });
}
