import { isJsonObject } from '#lib/json';
import { A2aError } from './a2a-error.js';

/** Id of a request, echoed with its type. */
export type RpcId = string | number | null;

export interface RpcRequest {
  readonly id: RpcId;
  readonly method: string;
  readonly params: unknown;
}

/** An id is echoed in every answer and every event of a stream. */
const MAX_ID_CHARS = 1_024;
const SHOWN_METHOD_CHARS = 100;

/** The id of a body, as far as one can be made out. */
export function idOf(body: unknown): RpcId {
  const id = isJsonObject(body) ? body['id'] : null;
  return isId(id) ? id : null;
}

function isId(id: unknown): id is RpcId {
  if (typeof id === 'string') return id.length <= MAX_ID_CHARS;
  return id === null || Number.isSafeInteger(id);
}

/**
 * One JSON-RPC request of a body.
 * @throws A2aError `invalidRequest`
 */
export function parseEnvelope(body: unknown): RpcRequest {
  if (Array.isArray(body)) throw invalid('a batch is not supported; send one request');
  if (!isJsonObject(body)) throw invalid('the body must be a JSON object');
  const { jsonrpc, id, method, params } = body;
  if (jsonrpc !== '2.0') throw invalid('jsonrpc must be "2.0"');
  if (!isId(id)) throw invalid(`id must be a text of at most ${MAX_ID_CHARS} characters, an integer or null`);
  if (typeof method !== 'string' || method === '') throw invalid('method must be a text');
  return { id, method, params };
}

function invalid(found: string): A2aError {
  return new A2aError('invalidRequest', `Invalid request: ${found}`);
}

export function unknownMethod(method: string): A2aError {
  return new A2aError('methodNotFound', `Method "${method.slice(0, SHOWN_METHOD_CHARS)}" not found`);
}
