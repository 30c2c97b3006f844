import { once } from 'node:events';
import {
  Agent,
  type ClientRequest,
  createServer,
  request,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';

/** One address for all replicas, which take turns request by request; remembers what was answered. */
export class Front {
  /** `GET /threads/…`, without the query, of requests that were not refused. */
  readonly answered = new Set<string>();
  readonly #agent = new Agent({ keepAlive: true });
  #replicas: readonly URL[] = [];
  #next = 0;

  private constructor(private readonly server: Server) {
    server.on('request', (incoming, answer) => this.#forward(incoming, answer));
    server.on('upgrade', (incoming: IncomingMessage, socket: Duplex) => this.#upgrade(incoming, socket));
  }

  static async start(): Promise<Front> {
    // longer than any client keeps a connection that it does not use: one that is closed first loses a request
    const server = createServer({ keepAliveTimeout: 72_000 });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new Front(server);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  leadTo(urls: readonly string[]): void {
    this.#replicas = urls.map((url) => new URL(url));
  }

  #onward({ method = '', url = '', headers }: IncomingMessage, agent: Agent | false): ClientRequest {
    const replica = this.#replicas[this.#next++ % this.#replicas.length];
    if (!replica) throw new Error('the front leads nowhere yet');
    const { hostname, port } = replica;
    const onward = request({ hostname, port, path: url, method, headers, agent });
    const note = ({ statusCode = 500 }: IncomingMessage): void => {
      if (statusCode < 400) this.answered.add(`${method} ${url.split('?', 1)[0]}`);
    };
    return onward.on('response', note).on('upgrade', note);
  }

  #upgrade(incoming: IncomingMessage, socket: Duplex): void {
    const onward = this.#onward(incoming, false);
    onward.on('upgrade', ({ rawHeaders }, far: Duplex) => {
      const lines = rawHeaders.flatMap((name, at) =>
        at % 2 === 0 ? [`${name}: ${rawHeaders[at + 1]}`] : [],
      );
      socket.write(['HTTP/1.1 101 Switching Protocols', ...lines, '', ''].join('\r\n'));
      socket.pipe(far).pipe(socket);
      far.on('error', () => socket.destroy());
      far.on('close', () => socket.destroy());
      socket.on('close', () => far.destroy());
    });
    onward.on('response', () => socket.destroy());
    onward.on('error', () => socket.destroy());
    socket.on('error', () => onward.destroy());
    onward.end();
  }

  #forward(incoming: IncomingMessage, answer: ServerResponse): void {
    const onward = this.#onward(incoming, this.#agent);
    onward.on('response', (response) => {
      answer.writeHead(response.statusCode ?? 502, response.headers);
      answer.flushHeaders();
      response.pipe(answer);
      response.on('error', () => answer.destroy());
    });
    onward.on('error', () => answer.destroy());
    // whoever leaves must be seen to leave by the replica
    answer.on('close', () => onward.destroy());
    incoming.pipe(onward);
  }

  async stop(): Promise<void> {
    this.#agent.destroy();
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }
}
