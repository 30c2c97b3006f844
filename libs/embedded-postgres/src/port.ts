import { createServer } from 'node:net';

/** A port on 127.0.0.1 that is free now. */
export function findFreePort(): Promise<number> {
  return listenOnce(0);
}

/** @throws Error naming the port when a program listens on it */
export async function requireFreePort(port: number): Promise<void> {
  await listenOnce(port);
}

function listenOnce(port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on('error', (error) =>
      reject(new Error(`port ${port} on 127.0.0.1 is in use by another program`, { cause: error })),
    );
    server.listen(port, '127.0.0.1', () => {
      const address = server.address();
      const found = typeof address === 'object' && address ? address.port : port;
      server.close(() => resolve(found));
    });
  });
}
