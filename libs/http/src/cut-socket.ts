import type { Socket } from 'node:net';

/**
 * Ends a connection whose client does not read. Without the reset the kernel would keep its data for the
 * client, some megabytes, until the client reads it or minutes have gone by.
 */
export function cutSocket(socket: Socket): void {
  // TLS has its own handle, which cannot be reset
  if ('encrypted' in socket || socket.destroyed) socket.destroy();
  else socket.resetAndDestroy();
}
