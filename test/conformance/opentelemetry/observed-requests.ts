import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** One request of an exporter, and what the api answered. */
export interface ObservedRequest {
  readonly encoding: string | undefined;
  readonly type: string | undefined;
  readonly bytes: number;
  readonly status: number;
}

const PASSED = ['x-api-key', 'langsmith-project', 'content-type', 'content-encoding'];

function passedOn(headers: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(PASSED.flatMap((name) => (headers[name] ? [[name, String(headers[name])]] : [])));
}

/** A server in front of the api that hands requests on, and notes how they were sent. */
export class ObservedRequests {
  readonly seen: ObservedRequest[] = [];
  readonly #server = createServer((request, response) => void this.#hand(request, response));

  constructor(private readonly target: string) {}

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #hand(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(request);
    const answer = await fetch(this.target + (request.url ?? ''), {
      method: 'POST',
      headers: passedOn(request.headers),
      body: new Uint8Array(body),
    });
    this.seen.push({
      encoding: request.headers['content-encoding'],
      type: request.headers['content-type'],
      bytes: body.length,
      status: answer.status,
    });
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' });
    response.end(Buffer.from(await answer.arrayBuffer()));
  }
}
