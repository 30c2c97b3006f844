import type { ListenOptions, Server } from 'node:net';

/**
 * Begins to listen.
 * @param onError of the server, once it listens
 * @returns the port
 * @throws the error that keeps it from listening
 */
export async function listenOn(
  server: Server,
  address: ListenOptions,
  onError?: (error: Error) => void,
): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', reject);
  server.listen(address, resolve);
  await promise;
  server.off('error', reject);
  if (onError) server.on('error', onError);
  const bound = server.address();
  if (typeof bound !== 'object' || bound === null) throw new Error('the server listens on no port');
  return bound.port;
}
