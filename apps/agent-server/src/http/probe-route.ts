import type { IncomingHttpHeaders } from 'node:http';
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
import type { Readiness } from '../start/await-database.js';
import { type Clock, systemClock } from '#lib/time';
import { access } from './route-access.js';

/** Longest wait of a probe for the end of the start. A kubelet gives a probe a second or more. */
const HOLD_MS = 500;

const DATABASE_AWAY = 'database unavailable; retry';

export interface ProbeParts {
  readonly readiness: Pick<Readiness, 'notReady' | 'settled'>;
  /** Reason why every request will fail, though the server has started. */
  readonly failing?: () => string | undefined;
  /** Number of times in a row that its graph hosts have ended while idle. */
  readonly hostEnds?: () => number;
  /** Problem of a server that serves requests all the same. */
  readonly note?: () => string | undefined;
  /** Asks the database for nothing; rejects while it is unavailable. */
  readonly askDatabase: () => Promise<unknown>;
  /** Amount of work. */
  readonly load?: (() => Promise<RunLoad>) | undefined;
  /** True when any client may read the amount of work; otherwise only the listener may. */
  readonly showsLoad?: boolean;
  /** Answers whether the server is idle; undefined when no client may ask. */
  readonly idle?: IdleDesk | undefined;
  readonly clock?: Clock;
}

/** Answers whether the server is idle, for holders of the token. */
export interface IdleDesk {
  readonly tokenDigest: string;
  /** @param close refuse requests from now on, if there is no work */
  ask(close: boolean): Promise<IdleAnswer>;
}

/** Answers to `?check_db=1`. Any client may ask, so those who ask at the same time share one question to the database. */
class DatabaseCheck {
  #asked: Promise<boolean> | undefined;

  constructor(private readonly ask: () => Promise<unknown>) {}

  isHealthy(): Promise<boolean> {
    this.#asked ??= this.ask()
      .then(
        () => true,
        () => false,
      )
      .finally(() => (this.#asked = undefined));
    return this.#asked;
  }
}

function isProbe({ 'user-agent': agent = '' }: IncomingHttpHeaders): boolean {
  return agent.startsWith('kube-probe/');
}

/**
 * `GET /ok`, with `?check_db=1` for checks that include the database, with `?load=1` for autoscalers of servers that take runs, and with `?idle=ask` or `?idle=close`
 * for the listener that stops idle servers.
 */
export function registerProbe(
  app: FastifyInstance,
  {
    readiness,
    failing,
    hostEnds,
    note,
    askDatabase,
    load,
    showsLoad = false,
    idle,
    clock = systemClock,
  }: ProbeParts,
): void {
  const database = new DatabaseCheck(askDatabase);
  app.get('/ok', access('open'), async (request, reply) => {
    // the start is seen when it ends, and not at the next probe
    if (readiness.notReady && isProbe(request.headers))
      await Promise.race([readiness.settled, clock.sleep(HOLD_MS)]);
    const { notReady } = readiness;
    if (notReady) return reply.code(503).send(formatNotReady(notReady));
    const detail = failing?.();
    const ends = formatHostEnds(hostEnds?.() ?? 0);
    if (detail !== undefined) return reply.code(503).send({ ...formatNotReady({ detail }), ...ends });
    const found = note?.();
    const asked = request.query as Readonly<Record<'load' | 'idle' | 'check_db', unknown>>;
    const isChecked = asked.check_db === '1' || asked.check_db === 'true';
    const isHealthy = !isChecked || (await database.isHealthy());
    const services = isChecked ? { services: { database: isHealthy ? 'healthy' : 'unhealthy' } } : {};
    if (!isHealthy)
      return reply.code(503).send({ ...formatNotReady({ detail: DATABASE_AWAY }), ...services });
    const mayAsk = idle !== undefined && isIdleToken(request.headers[IDLE_HEADER], idle.tokenDigest);
    return {
      ok: true,
      ...ends,
      ...services,
      ...(found === undefined ? {} : { note: found }),
      ...(asked.load === '1' && load && (showsLoad || mayAsk) ? { load: formatRunLoad(await load()) } : {}),
      ...(mayAsk && asked.idle !== undefined
        ? { idle: formatIdle(await idle.ask(asked.idle === 'close')) }
        : {}),
    };
  });
}
