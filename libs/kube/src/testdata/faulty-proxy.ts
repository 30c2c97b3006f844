import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { request } from 'node:https';
import type { Socket } from 'node:net';
import type { KubeConnection } from '../connection/kube-connection.js';

/** A proxy in front of a real API server that can do what networks and restarts do to a client. Plain HTTP towards us. */
export class FaultyProxy {
  readonly #upstream: KubeConnection;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #streams = new Set<{ freeze(): void }>();
  /** Requests so far: `list`, `watch` and others. */
  readonly counts = { list: 0, watch: 0, other: 0 };
  /** Answers watches with 410 as long as it is positive; counts down. */
  refuseWatches = 0;
  /** Answers requests other than watches with 500 as long as it is positive; counts down. */
  failRequests = 0;
  /** Ends the next watches with a 410 in the stream, after their first bytes; counts down. */
  expireStreams = 0;
  /** Sends everything in a watch twice. */
  isDoubling = false;

  constructor(upstream: KubeConnection) {
    this.#upstream = upstream;
    this.#server = createServer((incoming, outgoing) => void this.#forward(incoming, outgoing));
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
    });
  }

  async start(): Promise<KubeConnection> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    const address = this.#server.address();
    const port = typeof address === 'object' && address ? address.port : 0;
    const { auth, namespace } = this.#upstream;
    return { server: `http://127.0.0.1:${port}`, auth, namespace };
  }

  /** Every connection is reset. */
  reset(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  /** Open answers fall silent for ever, their connections stay open: a half-open socket. */
  freeze(): void {
    for (const stream of this.#streams) stream.freeze();
  }

  async stop(): Promise<void> {
    this.reset();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #forward(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const url = incoming.url ?? '';
    const isWatch = url.includes('watch=true');
    if (isWatch) this.counts.watch++;
    else if (incoming.method === 'GET' && !url.includes('/namespaces/default/configmaps/'))
      this.counts.list++;
    else this.counts.other++;
    if (isWatch && this.refuseWatches > 0) {
      this.refuseWatches--;
      outgoing.writeHead(410, { 'content-type': 'application/json' });
      outgoing.end(JSON.stringify(expired()));
      return;
    }
    if (!isWatch && this.failRequests > 0) {
      this.failRequests--;
      outgoing.writeHead(500, { 'content-type': 'application/json' });
      outgoing.end(
        JSON.stringify({ kind: 'Status', code: 500, reason: 'InternalError', message: 'trouble' }),
      );
      return;
    }
    const authorization = await this.#upstream.auth.authorization();
    const { ca, clientCertificate, clientKey } = this.#upstream;
    const { host: _host, ...headers } = incoming.headers;
    const upstream = request(
      new URL(this.#upstream.server + url),
      {
        method: incoming.method,
        headers: { ...headers, ...(authorization ? { authorization } : {}) },
        rejectUnauthorized: false,
        ...(ca ? { ca } : {}),
        ...(clientCertificate ? { cert: clientCertificate } : {}),
        ...(clientKey ? { key: clientKey } : {}),
      },
      (answer) => this.#pass(answer, outgoing, isWatch),
    );
    upstream.on('error', () => outgoing.destroy());
    outgoing.on('close', () => upstream.destroy());
    incoming.pipe(upstream);
  }

  #pass(answer: IncomingMessage, outgoing: ServerResponse, isWatch: boolean): void {
    let isFrozen = false;
    const stream = { freeze: () => (isFrozen = true) };
    this.#streams.add(stream);
    outgoing.on('close', () => this.#streams.delete(stream));
    outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
    outgoing.flushHeaders();
    if (isWatch && this.expireStreams > 0) {
      this.expireStreams--;
      outgoing.end(`${JSON.stringify({ type: 'ERROR', object: expired() })}\n`);
      return;
    }
    answer.on('data', (chunk: Buffer) => {
      if (isFrozen) return;
      outgoing.write(chunk);
      if (isWatch && this.isDoubling) outgoing.write(chunk);
    });
    answer.on('end', () => !isFrozen && outgoing.end());
    answer.on('error', () => outgoing.destroy());
  }
}

function expired(): object {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    code: 410,
    reason: 'Expired',
    message: 'too old resource version',
  };
}
