import type { FastifyInstance } from 'fastify';
import { PublicError } from '#lib/errors';
import { renderMetrics, renderMetricsJson } from '#lib/telemetry';
import { queryOf } from '../request-parts.js';
import { access } from '../route-access.js';
import type { ServedRoutes } from './openapi-document.js';

/**
 * Routes by which a server describes itself: its numbers, for a key of the platform (clients of the internal
 * port need none), since they count the runs of all users; and its routes, which are no secret. The modules
 * that make them are loaded by the first request.
 * @param routes served routes, with the prefix of their paths; read at each request
 */
export function registerDescription(app: FastifyInstance, routes: () => ServedRoutes): void {
  app.get('/metrics', access('key'), async (request, reply) => {
    const { format = 'prometheus' } = queryOf(request);
    if (format !== 'prometheus' && format !== 'json')
      throw new PublicError('bad_request', 'format must be prometheus or json');
    const render = format === 'json' ? renderMetricsJson : renderMetrics;
    const { contentType, text } = await render('agent-server');
    return reply.type(contentType).send(text);
  });
  app.get('/openapi.json', access('open'), async () =>
    (await import('./openapi-document.js')).openapiDocument(routes()),
  );
  app.get('/docs', access('open'), async (_request, reply) => {
    const { openapiDocument } = await import('./openapi-document.js');
    const { renderDocsPage } = await import('./docs-page.js');
    const { html, policy } = renderDocsPage(openapiDocument(routes()));
    return reply.type('text/html; charset=utf-8').header('content-security-policy', policy).send(html);
  });
}
