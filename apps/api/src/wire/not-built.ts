import type {
  FastifyContextConfig,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  HTTPMethods,
} from 'fastify';

const METHODS: readonly HTTPMethods[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

/** First parts of paths that the LangSmith clients call, and what is not supported there. */
const FEATURES: Readonly<Record<string, string>> = {
  'feedback-configs': 'feedback configurations',
  commits: 'prompts',
  repos: 'prompts',
  settings: 'prompts',
  'annotation-queues': 'annotation queues',
  'examples/bulk': 'uploads of examples as JSON (multipart ones are: langsmith 0.3.9 or newer)',
  'datasets/comparative': 'comparisons of experiments',
  'datasets/upload': 'datasets of CSV files',
  'datasets/:dataset_id/share': 'shared datasets',
  'datasets/:dataset_id/openai_ft': 'files for fine-tuning',
  'datasets/:dataset_id/index': 'searches of similar examples',
  'datasets/:dataset_id/search': 'searches of similar examples',
  'datasets/:dataset_id/runs': 'examples with their runs',
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
