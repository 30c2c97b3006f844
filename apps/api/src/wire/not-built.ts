import type {
  FastifyContextConfig,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  HTTPMethods,
} from 'fastify';
import { KEY_SCOPES } from '#lib/auth';
import type { AccessRoute, RouteAccess } from './route-access.js';

const METHODS: readonly HTTPMethods[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

/** First parts of paths that the LangSmith clients call, and the unsupported features there. */
const FEATURES: Readonly<Record<string, string>> = {
  'feedback-formulas': 'feedback formulas',
  'annotation-queues': 'annotation queues',
  'examples/bulk': 'uploads of examples as JSON (multipart ones are: langsmith 0.3.9 or newer)',
  'datasets/comparative': 'comparisons of experiments',
  'datasets/upload': 'datasets of CSV files',
  'datasets/:dataset_id/share': 'shared datasets',
  'datasets/:dataset_id/openai_ft': 'files for fine-tuning',
  'datasets/:dataset_id/index': 'searches of similar examples',
  'datasets/:dataset_id/search': 'searches of similar examples',
  agents: 'registries of agents',
  'sessions/:session_id/insights': 'insights',
  'sessions/:session_id/dashboard': 'dashboards',
  'sessions/resolutions': 'addresses of agents',
  'workspaces/current/secrets': 'secrets of workspaces',
  'workspaces/current/tag-keys': 'tags of resources',
  'workspaces/current/tags': 'tags of resources',
  'prompt-webhooks': 'webhooks of prompts',
  'runs/rules': 'rules of projects',
  'runs/threads/:thread_id': 'lists of the messages of a thread',
};

/** Features under the platform's own paths, which the clients reach by two prefixes. */
const PLATFORM_FEATURES: Readonly<Record<string, string>> = {
  'annotation-queues': 'annotation queues',
  evaluators: 'evaluators on the server',
  'hub/repos': 'agents and skills of a hub',
  issues: 'issues of projects',
  'product-feedbacks': 'feedback about the product',
  'examples/multipart': 'uploads of examples that name no dataset',
  'datasets/:dataset_id/examples/:example_id': 'deletions of an example by its dataset',
};

/** The same, answered 405: the clients take that for a server without the route, and call an older one. */
const NEWER_FEATURES: Readonly<Record<string, string>> = {
  'datasets/:dataset_id/examples/metadata': 'changes of the metadata of many examples',
};

/** Features of the second API. */
const SELECTED_FEATURES: Readonly<Record<string, string>> = {
  sandboxes: 'sandboxes',
  sessions: 'projects of the second wire',
  datasets: 'datasets of the second wire',
  'threads/:thread_id/share': 'shared threads',
  'threads/stats': 'totals over threads',
  'runs/rules': 'rules of projects',
  'ai-search': 'searches in words',
  sql: 'queries in SQL',
};

/** Features behind the token of a link; they need no key. */
const PUBLIC_FEATURES: Readonly<Record<string, string>> = {
  datasets: 'shared datasets',
  examples: 'shared datasets',
};

const EVERY_KEY: RouteAccess = { kind: 'key', scopes: KEY_SCOPES };
const NO_KEY: RouteAccess = { kind: 'public', reason: 'the token of a link', isForAll: false };

/**
 * Answers missing features with 501 and a sentence. The clients take a 404 for an object that is not visible
 * yet and repeat the request for minutes; a 501 ends it at once. Keys are required as everywhere.
 */
export function answerNotBuilt(server: FastifyInstance): void {
  const both = ['', '/api/v1'];
  refuseCalls(server);
  answerAll(server, both, FEATURES);
  const platform = ['/v1/platform', '/platform', '/api/v1/platform', '/api/v1/v1/platform'];
  answerAll(server, platform, PLATFORM_FEATURES);
  answerAll(server, platform, NEWER_FEATURES, { status: 405 });
  answerAll(server, ['/api/v2'], SELECTED_FEATURES);
  answerAll(server, ['', '/api'], { 'v1/fleet': 'agents of a fleet' });
  answerAll(server, [''], {
    'v2/sql': 'queries in SQL',
    'v2/auth': 'logins of agents at other services (agent auth)',
    'v2/integrations': 'installations of a GitHub App',
    'v1/integrations/git_host/:integration_id/repos': 'lists of the repositories of a git integration',
  });
  answerAll(
    server,
    both.map((prefix) => `${prefix}/public/:share_token`),
    PUBLIC_FEATURES,
    { access: NO_KEY },
  );
}

function refuse(reply: FastifyReply, feature: string, status = 501): FastifyReply {
  const detail = `${feature} are not supported by this platform; nothing was stored or changed`;
  // the newer clients repeat requests after any 5xx unless they are asked not to
  return reply.code(status).header('x-should-retry', 'false').send({ detail });
}

/** Refuses calls that the address alone does not identify. */
function refuseCalls(server: FastifyInstance): void {
  server.addHook('onRequest', async ({ method, headers, routeOptions: { url } }, reply) => {
    // the newer clients ask for pages as streams of events, and wait for one without an end
    const isStream = headers.accept?.startsWith('text/event-stream') ?? false;
    if (isStream && url?.startsWith('/api/v2/')) return refuse(reply, 'streams of pages');
    const isExamples = url === '/examples' || url === '/api/v1/examples';
    if (isExamples && method === 'POST') return refuse(reply, 'uploads of single examples as JSON');
  });
}

function answerAll(
  server: FastifyInstance,
  prefixes: readonly string[],
  features: Readonly<Record<string, string>>,
  { access = EVERY_KEY, status = 501 }: { readonly access?: RouteAccess; readonly status?: number } = {},
): void {
  const config: FastifyContextConfig & AccessRoute = { routeAccess: access };
  for (const [path, feature] of Object.entries(features)) {
    const answer = async (_request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> =>
      refuse(reply, feature, status);
    for (const prefix of prefixes)
      for (const url of [`${prefix}/${path}`, `${prefix}/${path}/*`])
        // before the body is read: it is ignored, whatever its type
        server.route({ method: [...METHODS], url, config, onRequest: answer, handler: answer });
  }
}
