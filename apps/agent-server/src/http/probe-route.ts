import { timingSafeEqual } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import {
  formatNotReady,
  formatRest,
  formatRunLoad,
  REST_HEADER,
  type RestAnswer,
  type RunLoad,
} from '#lib/lifecycle';
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
  /** Whether the server may rest; undefined where nobody may ask. */
  readonly rest?: RestDesk | undefined;
}

/** Answers those who have the token. */
export interface RestDesk {
  readonly token: string;
  /** @param close refuse requests from now on, if there is nothing to do */
  ask(close: boolean): Promise<RestAnswer>;
}

function mayAsk({ headers }: FastifyRequest, { token }: RestDesk): boolean {
  const [given, wanted] = [headers[REST_HEADER], token].map((text) => Buffer.from(String(text ?? '')));
  return given?.length === wanted?.length && timingSafeEqual(given ?? Buffer.of(), wanted ?? Buffer.of());
}

/**
 * `GET /ok`, with `?load=1` for those who decide how many servers take runs, and with `?rest=ask` or `?rest=close` for
 * the one that stops idle servers.
 */
export function registerProbe(
  app: FastifyInstance,
  { readiness, failing, note, load, rest }: ProbeParts,
): void {
  app.get('/ok', access('open'), async (request, reply) => {
    const { notReady } = readiness;
    if (notReady) return reply.code(503).send(formatNotReady(notReady));
    const detail = failing?.();
    if (detail !== undefined) return reply.code(503).send(formatNotReady({ detail }));
    const found = note?.();
    const asked = request.query as { readonly load?: unknown; readonly rest?: unknown };
    const isAsked = asked.rest !== undefined && rest !== undefined && mayAsk(request, rest);
    return {
      ok: true,
      ...(found === undefined ? {} : { note: found }),
      ...(asked.load === '1' && load ? { load: formatRunLoad(await load()) } : {}),
      ...(isAsked ? { rest: formatRest(await rest.ask(asked.rest === 'close')) } : {}),
    };
  });
}
