import { request } from 'node:https';
import type { Transcript } from './transcript.js';

/** Who calls: a token, a client certificate, or nobody. */
export interface Identity {
  readonly token?: string;
  readonly cert?: string;
  readonly key?: string;
}

export interface SecureRequest {
  readonly body?: string | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface SecureAnswer {
  readonly status: number;
  readonly text: string;
}

/** A server that refuses a body before all of it was sent closes, and its answer may be lost to the sender. */
const MOST_TRIES = 3;
const CUT = new Set(['EPIPE', 'ECONNRESET']);
const LARGE_BYTES = 64 * 1024;

/** Calls one HTTPS server with the path exactly as given: `fetch` would tidy it up first. */
export class HttpsCaller {
  constructor(
    readonly server: URL,
    private readonly ca: string,
    private readonly transcript: Transcript,
  ) {}

  async call(
    method: string,
    path: string,
    identity: Identity,
    sent: SecureRequest = {},
  ): Promise<SecureAnswer> {
    const isLarge = sent.body !== undefined && Buffer.byteLength(sent.body) > LARGE_BYTES;
    for (let tries = 1; ; tries++)
      try {
        return await this.#try(method, path, identity, sent);
      } catch (error) {
        const { code = '' } = error as NodeJS.ErrnoException;
        if (!isLarge || !CUT.has(code) || tries === MOST_TRIES) throw error;
      }
  }

  #try(
    method: string,
    path: string,
    { token, cert, key }: Identity,
    { body, headers = {} }: SecureRequest,
  ): Promise<SecureAnswer> {
    const { hostname, port } = this.server;
    return new Promise((resolve, reject) => {
      const sent = request(
        {
          hostname,
          port,
          path,
          method,
          ca: this.ca,
          agent: false,
          ...(cert === undefined ? {} : { cert, key }),
          headers: {
            ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
            ...(body === undefined
              ? {}
              : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
            ...headers,
          },
        },
        (answer) => {
          const chunks: Buffer[] = [];
          answer.on('data', (chunk: Buffer) => chunks.push(chunk));
          // a server may answer a body that is too large before it was sent, and close
          answer.once('close', () => {
            const text = Buffer.concat(chunks).toString('utf8');
            this.transcript.add(`${method} ${path}`, `${JSON.stringify(answer.headers)}\n${text}`);
            resolve({ status: answer.statusCode ?? 0, text });
          });
        },
      );
      sent.once('error', reject);
      sent.setTimeout(60_000, () => sent.destroy(new Error(`${method} ${path}: no answer within 60 s`)));
      sent.end(body);
    });
  }
}
