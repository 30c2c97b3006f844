import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** A call as it arrived. */
export interface ReceivedCall {
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly body: Readonly<Record<string, unknown>>;
}

type Answer = (response: ServerResponse, nth: number) => void;

/** A receiver of webhooks that answers as it is told. */
export class WebhookReceiver {
  readonly calls: ReceivedCall[] = [];
  readonly #server: Server;
  #answer: Answer = (response) => response.writeHead(204).end();

  private constructor(server: Server) {
    this.#server = server;
    server.on('request', (request, response) => {
      void text(request).then((body) => {
        this.calls.push({
          headers: request.headers,
          text: body,
          body: JSON.parse(body) as ReceivedCall['body'],
        });
        this.#answer(response, this.calls.length);
      });
    });
  }

  static async start(): Promise<WebhookReceiver> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new WebhookReceiver(server);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/hook?a=b`;
  }

  /** @param answer gets the number of the call, from 1 */
  answers(answer: Answer): void {
    this.#answer = answer;
  }

  of(runId: string): ReceivedCall[] {
    return this.calls.filter(({ body }) => body['run_id'] === runId);
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}
