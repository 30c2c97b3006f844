import type { FastifyInstance } from 'fastify';
import {
  formatHostEnds,
  formatNotReady,
  formatIdle,
  formatRunLoad,
  IDLE_HEADER,
  type IdleAnswer,
  isIdleToken,
  type RunLoad,
} from '#lib/lifecycle';
import type { Readiness } from '../start/readiness.js';
import { access } from './route-access.js';

export interface ProbeParts {
  readonly readiness: Pick<Readiness, 'notReady'>;
  /** Why whatever is asked of the server will fail, though it has started. */
  readonly failing?: () => string | undefined;
  /** How often in a row its graph hosts have ended with nothing to do. */
  readonly hostEnds?: () => number;
  /** What is wrong while requests are served all the same. */
  readonly note?: () => string | undefined;
  /** How much there is to do. */
  readonly load?: (() => Promise<RunLoad>) | undefined;
  /** Whether anybody may ask how much there is to do: else the listener alone. */
  readonly showsLoad?: boolean;
  /** Whether the server is idle; undefined where nobody may ask. */
  readonly idle?: IdleDesk | undefined;
}

/** Answers those who have the token. */
export interface IdleDesk {
  readonly tokenDigest: string;
  /** @param close refuse requests from now on, if there is nothing to do */
  ask(close: boolean): Promise<IdleAnswer>;
}

/**
 * `GET /ok`, with `?load=1` for those who decide how many servers take runs, and with `?idle=ask` or `?idle=close` for
 * the one that stops idle servers.
 */
export function registerProbe(
  app: FastifyInstance,
  { readiness, failing, hostEnds, note, load, showsLoad = false, idle }: ProbeParts,
): void {
  app.get('/ok', access('open'), async (request, reply) => {
    const { notReady } = readiness;
    if (notReady) return reply.code(503).send(formatNotReady(notReady));
    const detail = failing?.();
    const ends = formatHostEnds(hostEnds?.() ?? 0);
    if (detail !== undefined) return reply.code(503).send({ ...formatNotReady({ detail }), ...ends });
    const found = note?.();
    const asked = request.query as { readonly load?: unknown; readonly idle?: unknown };
    const mayAsk = idle !== undefined && isIdleToken(request.headers[IDLE_HEADER], idle.tokenDigest);
    return {
      ok: true,
      ...ends,
      ...(found === undefined ? {} : { note: found }),
      ...(asked.load === '1' && load && (showsLoad || mayAsk) ? { load: formatRunLoad(await load()) } : {}),
      ...(mayAsk && asked.idle !== undefined
        ? { idle: formatIdle(await idle.ask(asked.idle === 'close')) }
        : {}),
    };
  });
}
