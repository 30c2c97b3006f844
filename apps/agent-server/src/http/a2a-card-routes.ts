import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { PublicError } from '#lib/errors';
import { buildCard10, buildHybridCard, type CardOptions, type CardSecurity } from '../a2a/agent-card.js';
import type { Agents } from '../a2a/agents.js';
import { wireOfVersion } from '../a2a/choose-wire.js';
import { A2aError } from '../a2a/envelope.js';
import type { TaskPushes } from '../a2a/task-pushes.js';
import { scopeOf } from './caller-scope.js';
import { publicUrlOf, type PublicUrlSettings } from './public-url.js';
import { hasTag, pathPart, queryOf } from './request-parts.js';
import { access } from './route-access.js';

export interface CardParts extends PublicUrlSettings {
  readonly agents: Agents;
  readonly pushes: TaskPushes;
  /** Authentication of callers, as cards describe it. */
  readonly cardSecurity: CardSecurity | undefined;
}

/** Callers need a key for a card, so no cache but their own may keep it. */
const CACHE_CONTROL = 'private, max-age=60';

/** Both addresses of a card: the interface's, and the one that tools derive from the agent's URL. */
export function registerCardRoutes(app: FastifyInstance, parts: CardParts): void {
  app.get('/.well-known/agent-card.json', access('assistants:read'), (request, reply) => {
    const { assistant_id: id } = queryOf(request);
    if (typeof id === 'string' && id !== '') return sendCard(parts, request, reply, id);
    throw new PublicError('invalid', 'the query is not valid', [
      { loc: ['query', 'assistant_id'], msg: 'must name an assistant', type: 'missing' },
    ]);
  });
  app.get('/a2a/:assistant_id/.well-known/agent-card.json', access('assistants:read'), (request, reply) =>
    sendCard(parts, request, reply, pathPart(request, 'assistant_id')),
  );
}

async function sendCard(
  parts: CardParts,
  request: FastifyRequest,
  reply: FastifyReply,
  assistantId: string,
): Promise<unknown> {
  const agent = await parts.agents.get(scopeOf(request), assistantId);
  const { name, graph_id: graphId, updated_at: updatedAt } = agent.assistant;
  if (!agent.canTalk)
    throw new PublicError(
      'not_found',
      `Assistant ${name} has no agent card: the state of graph "${graphId}" has no "messages"`,
    );
  const options = cardOptions(request, parts);
  const build = isPure(request) ? buildCard10 : buildHybridCard;
  const card = JSON.stringify(build(agent, options));
  const etag = `"${createHash('sha256').update(card).digest('base64url').slice(0, 27)}"`;
  void reply.headers({
    etag,
    vary: varyOf(reply, parts),
    'cache-control': CACHE_CONTROL,
    'last-modified': new Date(updatedAt).toUTCString(),
  });
  if (hasTag(request.headers['if-none-match'], etag)) return reply.code(304).send();
  return reply.type('application/json; charset=utf-8').send(card);
}

/** @throws PublicError `unavailable` when the address of the agent is not known */
export function cardOptions({ headers }: FastifyRequest, parts: CardParts): CardOptions {
  const baseUrl = publicUrlOf(headers, parts);
  if (baseUrl !== undefined)
    return { baseUrl, security: parts.cardSecurity, hasPushes: parts.pushes.isEnabled };
  throw new PublicError(
    'unavailable',
    'Agent card: the public URL of this server is not known; set AGENTPLANE_PUBLIC_URL',
  );
}

/**
 * Returns true for clients of the newest form; a client with an unknown version gets the form that all can
 * read.
 */
function isPure(request: FastifyRequest): boolean {
  try {
    return wireOfVersion(versionOf(request)).version === '1.0';
  } catch (error) {
    if (error instanceof A2aError) return false;
    throw error;
  }
}

/** Protocol version of the client, from a header or, where it cannot set one, from the query. */
export function versionOf(request: FastifyRequest): string | undefined {
  const header = request.headers['a2a-version'];
  const given = header ?? queryOf(request)['A2A-Version'];
  return typeof given === 'string' ? given : undefined;
}

function varyOf({ raw }: FastifyReply, { publicUrl, trustsForwarded }: PublicUrlSettings): string {
  const known = [raw.getHeader('vary') ?? []].flat().map(String);
  const hosts = publicUrl
    ? []
    : ['Host', ...(trustsForwarded ? ['X-Forwarded-Host', 'X-Forwarded-Proto', 'X-Forwarded-Prefix'] : [])];
  return [...known, 'A2A-Version', ...hosts].join(', ');
}
