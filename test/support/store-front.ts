import { createServer, request as httpRequest, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What goes wrong with one request to a store. */
export type StoreTrouble =
  /** Answered with this status and code; nothing is done. */
  | { readonly kind: 'error'; readonly status: number; readonly code: string }
  /** The connection is cut before anything is done. */
  | { readonly kind: 'reset' }
  /** Done, and the connection cut instead of an answer. */
  | { readonly kind: 'lost answer' }
  /** The connection stays open and nothing ever comes. */
  | { readonly kind: 'half-open' }
  /** Done, and answered with another ETag. */
  | { readonly kind: 'wrong etag' }
  /** Done, and answered this much later. */
  | { readonly kind: 'slow'; readonly ms: number };

/** A request to a store, as far as its trouble depends on it. */
export interface StoreRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

async function bodyOf(message: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of message) pieces.push(piece as Buffer);
  return Buffer.concat(pieces);
}

/** Stands before an object store of any maker and decides the fate of each request; signatures stay valid. */
export class StoreFront {
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  /** @param store its address */
  static async start(
    store: string,
    troubleOf: (request: StoreRequest) => StoreTrouble | undefined,
  ): Promise<StoreFront> {
    const server = createServer((incoming, response) => {
      void (async () => {
        const { pathname: path, searchParams: query } = new URL(incoming.url ?? '/', 'http://front');
        const body = await bodyOf(incoming);
        const trouble = troubleOf({ method: incoming.method ?? '', path, query });
        if (trouble?.kind === 'reset') return incoming.socket.destroy();
        if (trouble?.kind === 'half-open') return;
        if (trouble?.kind === 'error') {
          const text = `<?xml version="1.0"?><Error><Code>${trouble.code}</Code><Message>x</Message></Error>`;
          response.writeHead(trouble.status, { 'content-type': 'application/xml' });
          return response.end(incoming.method === 'HEAD' ? undefined : text);
        }
        const answer = await forward(store, incoming, body);
        if (trouble?.kind === 'lost answer') return incoming.socket.destroy();
        if (trouble?.kind === 'slow') await new Promise((resume) => setTimeout(resume, trouble.ms));
        const { status, headers, body: text } = trouble?.kind === 'wrong etag' ? spoiled(answer) : answer;
        return response.writeHead(status, headers).end(text);
      })().catch(() => incoming.socket.destroy());
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new StoreFront(server);
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

function forward(store: string, { method, url, headers }: IncomingMessage, body: Buffer): Promise<Answer> {
  const { hostname, port } = new URL(store);
  return new Promise((resolve, reject) => {
    // with the headers as they are: the host that was signed is the front's
    const outgoing = httpRequest({ hostname, port, method, path: url, headers }, (answer) => {
      bodyOf(answer).then(
        (text) => resolve({ status: answer.statusCode ?? 502, headers: answer.headers, body: text }),
        reject,
      );
    });
    outgoing.on('error', reject).end(body);
  });
}

function spoiled({ status, headers, body }: Answer): Answer {
  const other = 'f'.repeat(32);
  const text = body.toString('utf8').replace(/(<ETag>)[^<]*(<\/ETag>)/, `$1"${other}-1"$2`);
  const { etag, 'content-length': _length, 'transfer-encoding': _encoding, ...rest } = headers;
  return {
    status,
    body: Buffer.from(text),
    headers: { ...rest, ...(etag === undefined ? {} : { etag: `"${other}"` }) },
  };
}
