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
  extendedCardNotConfigured: { code: -32007, reason: 'EXTENDED_AGENT_CARD_NOT_CONFIGURED' },
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
