/**
 * Listens on the addresses of its first argument and hands the sockets to its parent. Run as a process of its
 * own from its text, so that it uses nothing of this file, and no function in it has a name, which a bundle
 * keeps by a function of its own: the event loop of a process that listens would accept connections, while a
 * socket that arrives from another process is only stored.
 */
export function listenAndDeposit(): void {
  const { createServer } = process.getBuiltinModule('node:net');
  const addresses = JSON.parse(process.argv[1] ?? '[]') as { host: string; port: number }[];
  let left = addresses.length;
  for (const { host, port } of addresses) {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) =>
      process.send?.(
        { kind: 'socket-failed', port, code: error.code ?? error.message },
        undefined,
        {},
        () => {
          if (--left === 0) process.disconnect();
        },
      ),
    );
    server.listen({ host, port, backlog: 1024 }, () => {
      const { _handle } = server as typeof server & { _handle: typeof server };
      process.send?.({ kind: 'socket-held', port }, _handle, { keepOpen: false }, () => {
        server.close();
        if (--left === 0) process.disconnect();
      });
    });
  }
}
