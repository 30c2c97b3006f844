import type { IncomingHttpHeaders } from 'node:http';
import type { UserInfo } from '../authn/user.js';
import type { RequestInfo } from './request-info.js';

/** One request on its way through the server. */
export interface RequestContext {
  readonly info: RequestInfo;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly user: UserInfo;
  /** Aborted when the client goes away or the server stops. */
  readonly signal: AbortSignal;
  /** The whole body; 413 above the limit. */
  readBody(): Promise<Buffer>;
  /**
   * Lets others be served: for work that would otherwise hold the thread for long.
   * @throws ApiError 429 when the wait was too long, or the reason of `signal`
   */
  nextTurn(): Promise<void>;
  /** Sends a `Warning` header with the answer; kubectl prints it. */
  warn(text: string): void;
}

/** Stream for a response whose end is not known in advance. */
export interface AnswerStream {
  /** False when the client reads too slowly and should be cut off. */
  write(chunk: string | Buffer): boolean;
  end(): void;
  /** Resolves when the client has read everything or has disconnected: for writers that can wait. */
  drained(): Promise<void>;
}

/** Response of a handler. */
export type Reply =
  | { readonly kind: 'json'; readonly code: number; readonly body: string | object }
  /** JSON whose parts are made as the client reads them: many large answers that wait for clients hold no memory. */
  | { readonly kind: 'parts'; readonly code: number; readonly parts: Iterable<string> }
  | {
      readonly kind: 'bytes';
      readonly code: number;
      readonly contentType: string;
      readonly body: string | Buffer;
      readonly headers?: Readonly<Record<string, string>>;
    }
  | {
      readonly kind: 'stream';
      readonly code: number;
      readonly contentType: string;
      readonly start: (stream: AnswerStream) => void | Promise<void>;
    };

export type Handler = (context: RequestContext) => Reply | Promise<Reply>;

export function json(body: string | object, code = 200): Reply {
  return { kind: 'json', code, body };
}
