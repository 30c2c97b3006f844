import type { Server } from 'node:http';
import type { Server as TlsServer } from 'node:https';
import type { Clock } from '#lib/time';

const SWEEP_MS = 20;

/**
 * Takes no new connections, lets requests under way be answered, and resolves when all connections have ended. Kept ones
 * become idle one by one while answers go out.
 * @param patienceMs after which those that are still open are cut, as of slow readers
 */
export async function closeServer(
  server: Server | TlsServer,
  { clock, patienceMs }: { readonly clock: Clock; readonly patienceMs: number },
): Promise<void> {
  if (!server.listening) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const untilMs = clock.monotonicMs() + patienceMs;
  let cancel = (): void => undefined;
  const sweep = (): void => {
    if (clock.monotonicMs() < untilMs) server.closeIdleConnections();
    else server.closeAllConnections();
    cancel = clock.after(SWEEP_MS, sweep);
  };
  server.close(() => resolve());
  sweep();
  await promise;
  cancel();
}
