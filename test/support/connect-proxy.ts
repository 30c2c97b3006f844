import { createServer, type IncomingMessage, request } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import type { Duplex } from 'node:stream';

/** A forward proxy on loopback, which knows names that nothing else resolves. */
export interface ConnectProxy {
  readonly url: string;
  /** `CONNECT host:port` or `GET http://…`, in the order in which they came. */
  readonly asked: readonly string[];
  /** The same, with what was forgotten. */
  readonly ever: readonly string[];
  forget(): void;
  stop(): void;
}

/** @param ports of this machine, by the `host:port` that callers ask for; anything else is refused */
export async function startConnectProxy(ports: Readonly<Record<string, number>>): Promise<ConnectProxy> {
  const ever: string[] = [];
  const asked: string[] = [];
  const note = (line: string): void => void [ever, asked].forEach((list) => list.push(line));
  const open = new Set<Duplex>();
  const server = createServer((incoming, answer) => {
    const url = new URL(incoming.url ?? '');
    note(`${incoming.method} ${url.origin}`);
    const port = ports[`${url.hostname}:${url.port || 80}`];
    if (port === undefined) return answer.writeHead(403).end();
    const { method, headers } = incoming;
    const path = url.pathname + url.search;
    const onward = request({ host: '127.0.0.1', port, method, path, headers }, (answered) => {
      answer.writeHead(answered.statusCode ?? 502, answered.headers);
      answered.pipe(answer);
    });
    onward.on('error', () => answer.destroy());
    incoming.pipe(onward);
  });
  server.on('connect', (incoming: IncomingMessage, client: Duplex) => {
    note(`CONNECT ${incoming.url}`);
    const port = ports[incoming.url ?? ''];
    if (port === undefined) return client.end('HTTP/1.1 403 Forbidden\r\n\r\n');
    const target = connect(port, '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      target.pipe(client).pipe(target);
    });
    for (const socket of [client, target]) {
      open.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => [client, target].forEach((one) => one.destroy()));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    ever,
    forget: () => void asked.splice(0),
    stop() {
      for (const socket of open) socket.destroy();
      server.closeAllConnections();
      server.close();
    },
  };
}
