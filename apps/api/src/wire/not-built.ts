import type {
  FastifyContextConfig,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  HTTPMethods,
} from 'fastify';

const METHODS: readonly HTTPMethods[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

/** First parts of paths that the LangSmith clients call, and what they are for. */
const FEATURES: Readonly<Record<string, string>> = {
  'feedback/tokens': 'presigned feedback tokens',
  'feedback-configs': 'feedback configurations',
  commits: 'prompts',
  repos: 'prompts',
  settings: 'prompts',
  'annotation-queues': 'annotation queues',
  datasets: 'datasets',
  examples: 'datasets',
};

/** Set on routes that are answered alike for keys of every scope. */
export interface NotBuiltRoute {
  readonly isNotBuilt?: boolean;
}

/**
 * Answers what this platform does not have yet with 501 and a sentence. The clients take a 404 for an object that is not
 * visible yet and repeat the request for minutes; a 501 ends it at once. Keys are asked for as everywhere.
 */
export function answerNotBuilt(server: FastifyInstance): void {
  const config: FastifyContextConfig & NotBuiltRoute = { isNotBuilt: true };
  for (const [path, feature] of Object.entries(FEATURES)) {
    const detail = `${feature} are not supported by this platform yet; nothing was stored or changed`;
    const answer = async (_request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> =>
      reply.code(501).send({ detail });
    for (const prefix of ['', '/api/v1'])
      for (const url of [`${prefix}/${path}`, `${prefix}/${path}/*`])
        // before the body is read: whatever its type, it is not looked at
        server.route({ method: [...METHODS], url, config, onRequest: answer, handler: answer });
  }
}
