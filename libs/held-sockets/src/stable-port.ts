import { createServer } from 'node:net';

/**
 * First port, below the range that operating systems take for outgoing connections (Linux from 32768, macOS
 * from 49152): a port that is kept over restarts must still be free when its owner comes back.
 */
const FIRST = 20_000;
const LAST = 30_000;
const MAX_TRIES = 200;

/** Resolves to true when no program listens on this port of 127.0.0.1 now. */
export function isPortFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ host: '127.0.0.1', port }, () => server.close(() => resolve(true)));
  });
}

/**
 * A free port of 127.0.0.1 to be kept.
 * @param claim answers false for a reserved port that no program listens on yet; a true answer reserves it
 * @throws Error when none is found in many tries
 */
export async function findStablePort(
  claim: (port: number) => boolean = () => true,
  random: () => number = Math.random,
): Promise<number> {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const port = FIRST + Math.floor(random() * (LAST - FIRST));
    if ((await isPortFree(port)) && claim(port)) return port;
  }
  throw new Error(`no free port on 127.0.0.1 between ${FIRST} and ${LAST}`);
}
