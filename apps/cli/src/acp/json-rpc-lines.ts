import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { errorText } from '#lib/errors';
import { isJsonObject, type JsonObject } from '#lib/json';

/** An error of JSON-RPC for the other side. */
export class RpcError extends Error {
  override readonly name = 'RpcError';

  constructor(
    readonly code: number,
    message: string,
  ) {
    super(message);
  }
}

export const CODE = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  resourceNotFound: -32002,
} as const;

/** Performs a method of the other side. @throws RpcError */
export type Perform = (method: string, params: JsonObject) => Promise<JsonObject>;

/** Both sides of JSON-RPC 2.0 over two streams, one message a line. */
export class JsonRpcLines {
  readonly #waiting = new Map<number, PromiseWithResolvers<JsonObject>>();
  #lastId = 0;

  constructor(
    private readonly output: Writable,
    private readonly perform: Perform,
  ) {}

  /** Reads messages until the input ends. Requests are performed side by side. */
  async read(input: Readable): Promise<void> {
    for await (const line of createInterface({ input, crlfDelay: Infinity }))
      if (line.trim() !== '') this.#take(line);
    const closed = new RpcError(CODE.internal, 'the connection was closed');
    for (const { reject } of this.#waiting.values()) reject(closed);
  }

  notify(method: string, params: JsonObject): void {
    this.#send({ method, params });
  }

  /** @throws RpcError of the other side */
  request(method: string, params: JsonObject): Promise<JsonObject> {
    const id = ++this.#lastId;
    const waiting = Promise.withResolvers<JsonObject>();
    this.#waiting.set(id, waiting);
    this.#send({ id, method, params });
    return waiting.promise;
  }

  #send(message: JsonObject): void {
    this.output.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }

  #take(line: string): void {
    let message: unknown;
    try {
      message = JSON.parse(line);
    } catch {
      return this.#fail(null, new RpcError(CODE.parse, 'the line is not JSON'));
    }
    if (!isJsonObject(message)) return this.#fail(null, new RpcError(CODE.invalidRequest, 'not an object'));
    const { id, method, params = {} } = message;
    if (typeof method !== 'string') return this.#answered(message);
    if (!isJsonObject(params))
      return this.#fail(id ?? null, new RpcError(CODE.invalidParams, 'params must be an object'));
    this.perform(method, params)
      .then((result) => (id === undefined ? undefined : this.#send({ id, result })))
      .catch((error: unknown) => (id === undefined ? undefined : this.#fail(id, error)));
  }

  #answered({ id, result, error }: JsonObject): void {
    const waiting = typeof id === 'number' ? this.#waiting.get(id) : undefined;
    if (waiting === undefined || typeof id !== 'number') return;
    this.#waiting.delete(id);
    if (isJsonObject(error)) waiting.reject(new RpcError(Number(error['code']), String(error['message'])));
    else waiting.resolve(isJsonObject(result) ? result : {});
  }

  #fail(id: unknown, error: unknown): void {
    const code = error instanceof RpcError ? error.code : CODE.internal;
    this.#send({ id, error: { code, message: errorText(error) } });
  }
}
