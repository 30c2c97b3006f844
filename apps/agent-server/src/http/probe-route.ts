import type { FastifyInstance } from 'fastify';
import { formatNotReady, formatRunLoad, type RunLoad } from '#lib/lifecycle';
import type { Readiness } from '../start/readiness.js';
import { access } from './route-access.js';

export interface ProbeParts {
  readonly readiness: Pick<Readiness, 'notReady'>;
  /** Why whatever is asked of the server will fail, though it has started. */
  readonly failing?: () => string | undefined;
  /** What is wrong while requests are served all the same. */
  readonly note?: () => string | undefined;
  /** How much there is to do for servers that take runs; undefined for one that answers other requests too. */
  readonly load?: (() => Promise<RunLoad>) | undefined;
}

/** `GET /ok`, with `?load=1` for those who decide how many servers take runs. */
export function registerProbe(app: FastifyInstance, { readiness, failing, note, load }: ProbeParts): void {
  app.get('/ok', access('open'), async (request, reply) => {
    const { notReady } = readiness;
    if (notReady) return reply.code(503).send(formatNotReady(notReady));
    const detail = failing?.();
    if (detail !== undefined) return reply.code(503).send(formatNotReady({ detail }));
    const found = note?.();
    const asked = request.query as { readonly load?: unknown };
    return {
      ok: true,
      ...(found === undefined ? {} : { note: found }),
      ...(asked.load === '1' && load ? { load: formatRunLoad(await load()) } : {}),
    };
  });
}
