import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { PublicError } from '#lib/errors';
import { isUuid } from '#lib/resources';
import type { Assistants } from '../assistant/assistants.js';
import { parseBody } from '../run/requested-run.js';
import { renderSnippet, type UiAssets } from '../ui/ui-assets.js';
import { authorize } from './caller-scope.js';
import { hasTag, pathPart, pathText } from './request-parts.js';
import { pageUrlOf, type PublicUrlSettings } from './public-url.js';
import { access } from './route-access.js';

const component = z.object({ name: z.string().min(1).max(1_000) });

export const UI_SHAPES = { component };

export interface UiRouteParts extends Omit<PublicUrlSettings, 'serviceUrl'> {
  readonly ui: UiAssets;
  readonly assistants: Assistants;
}

/**
 * Components of the agent for pages. The HTML is for callers; script and style, which hold code of the agent
 * and no data, are open, since a page loads them without a key.
 */
export function registerUiRoutes(app: FastifyInstance, parts: UiRouteParts): void {
  const { ui } = parts;
  app.post('/ui/:assistant_id', access('any'), async (request, reply) => {
    const { name: asked } = parseBody(component, request.body);
    const name = await entryOf(parts, request);
    const base = pageUrlOf(request.headers, parts);
    if (base === undefined)
      throw new PublicError('bad_request', 'The header host of the request is not the name of a host');
    const html = renderSnippet(base, name, ui.of(name) ?? [], asked);
    return reply.type('text/html; charset=utf-8').send(html);
  });
  app.get('/ui/:name/:file', access('open'), async (request, reply) => {
    const [name, file] = [pathPart(request, 'name'), pathPart(request, 'file')];
    const asset = ui.find(name, file);
    if (!asset) throw new PublicError('not_found', `UI file ${file} of ${name} not found`);
    const etag = `"${asset.hash}"`;
    void reply.headers({ etag, 'cache-control': 'no-cache' });
    if (hasTag(request.headers['if-none-match'], etag)) return reply.code(304).send();
    return reply.type(asset.type).send(asset.bytes);
  });
}

/**
 * Entry of a request: the name in the path, or the graph of the assistant whose id is in its place.
 * @throws PublicError `not_found`
 */
async function entryOf({ ui, assistants }: UiRouteParts, request: FastifyRequest): Promise<string> {
  const asked = pathText(request, 'assistant_id');
  if (ui.of(asked)) return asked;
  const found = isUuid(asked)
    ? await assistants.findForRun(asked, (id) => authorize(request, 'assistants:read', { assistant_id: id }))
    : undefined;
  if (found && ui.of(found.graph_id)) return found.graph_id;
  throw new PublicError(
    'not_found',
    `UI of ${asked} not found: "ui" of langgraph.json names no components of it`,
  );
}
