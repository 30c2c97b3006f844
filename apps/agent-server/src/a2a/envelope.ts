import { isJsonObject } from '#lib/json';

/** One wrong parameter. */
export interface Violation {
  /** For example `message.parts[0].text`. */
  readonly field: string;
  readonly description: string;
}

/** Every error of the protocol, and the word for it on the wire of 1.0. */
const ERRORS = {
  parse: { code: -32700, reason: 'PARSE_ERROR' },
  invalidRequest: { code: -32600, reason: 'INVALID_REQUEST' },
  methodNotFound: { code: -32601, reason: 'METHOD_NOT_FOUND' },
  invalidParams: { code: -32602, reason: 'INVALID_PARAMS' },
  internal: { code: -32603, reason: 'INTERNAL_ERROR' },
  taskNotFound: { code: -32001, reason: 'TASK_NOT_FOUND' },
  taskNotCancelable: { code: -32002, reason: 'TASK_NOT_CANCELABLE' },
  pushNotSupported: { code: -32003, reason: 'PUSH_NOTIFICATION_NOT_SUPPORTED' },
  unsupportedOperation: { code: -32004, reason: 'UNSUPPORTED_OPERATION' },
  contentTypeNotSupported: { code: -32005, reason: 'CONTENT_TYPE_NOT_SUPPORTED' },
  invalidAgentResponse: { code: -32006, reason: 'INVALID_AGENT_RESPONSE' },
  versionNotSupported: { code: -32009, reason: 'VERSION_NOT_SUPPORTED' },
} as const;

export type A2aErrorKind = keyof typeof ERRORS;

/** An error for the client of the protocol. Its message is meant to be read there. */
export class A2aError extends Error {
  override readonly name = 'A2aError';
  readonly code: number;
  readonly reason: string;

  constructor(
    readonly kind: A2aErrorKind,
    message: string,
    readonly violations: readonly Violation[] = [],
    options?: ErrorOptions,
  ) {
    super(message, options);
    const { code, reason } = ERRORS[kind];
    this.code = code;
    this.reason = reason;
  }
}

/** The same for tasks that never were, that are another caller's or another assistant's. */
export function taskNotFound(): A2aError {
  return new A2aError('taskNotFound', 'Task not found');
}

export function invalidParam(field: string, description: string): A2aError {
  return new A2aError('invalidParams', `params.${field} ${description}`, [{ field, description }]);
}

/** Id of a request, echoed with its type. */
export type RpcId = string | number | null;

export interface RpcRequest {
  /** False for a request that no answer would belong to; its method and parameters are judged first. */
  readonly hasId: boolean;
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
  if (id !== undefined && !isId(id))
    throw invalid(`id must be a text of at most ${MAX_ID_CHARS} characters, an integer or null`);
  if (typeof method !== 'string' || method === '') throw invalid('method must be a text');
  return { hasId: id !== undefined, method, params };
}

export function missingId(): A2aError {
  return invalid('id is missing');
}

function invalid(found: string): A2aError {
  return new A2aError('invalidRequest', `Invalid request: ${found}`);
}

export function unknownMethod(method: string): A2aError {
  return new A2aError('methodNotFound', `Method "${method.slice(0, SHOWN_METHOD_CHARS)}" not found`);
}
