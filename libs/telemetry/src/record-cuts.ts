import type { Cut } from '#lib/http';
import type { Logger } from './logger.js';
import { metrics } from './metrics.js';

/** Records each client that a server cuts for being slow: counts it and logs it once. */
export function recordCuts(log: Logger, server: string): (cut: Cut) => void {
  return ({ kind, reason, method, path }) => {
    metrics.httpClientsCut.add(1, { slow_at: kind });
    log.info({ server, method, path, reason }, 'slow client cut');
  };
}
