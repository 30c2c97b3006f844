import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const ALGORITHM = 'PBKDF2';

/** Uses parts of Node that it loads at their first use, so that a spare need not load them after its claim. */
export async function useOnce(): Promise<void> {
  await Promise.all([useHttp(), useCryptography()]);
}

async function useHttp(): Promise<void> {
  const server = createServer((_request, response) => response.end());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  // a proxy of the machine may refuse it: no spare fails for that
  await fetch(`http://127.0.0.1:${port}/`).then(
    (answer) => answer.text(),
    () => undefined,
  );
  server.close();
  server.closeAllConnections();
}

/** Uses what a connection to Postgres begins with. */
export async function useCryptography(): Promise<void> {
  const { subtle } = globalThis.crypto;
  const bytes = new Uint8Array(16);
  const password = await subtle.importKey('raw', bytes, ALGORITHM, false, ['deriveBits']);
  await subtle.deriveBits({ name: ALGORITHM, hash: 'SHA-256', salt: bytes, iterations: 1 }, password, 256);
  const key = await subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  await subtle.sign('HMAC', key, bytes);
}
