import type { JsonObject } from '#lib/json';
import { PublicError } from '#lib/errors';
import { A2aError, type A2aErrorKind } from './a2a-error.js';
import type { RpcId } from './envelope.js';
import type { Wire } from './wire.js';

const OF_PUBLIC: Readonly<Record<PublicError['code'], A2aErrorKind>> = {
  bad_request: 'invalidParams',
  unauthenticated: 'invalidRequest',
  forbidden: 'invalidRequest',
  not_found: 'invalidParams',
  conflict: 'unsupportedOperation',
  precondition_failed: 'unsupportedOperation',
  too_large: 'invalidRequest',
  invalid: 'invalidParams',
  too_many: 'internal',
  unavailable: 'internal',
};

function fromPublic(error: PublicError): A2aError {
  const violations = error.problems.map(({ loc, msg }) => ({ field: loc.join('.'), description: msg }));
  return new A2aError(OF_PUBLIC[error.code], error.message, violations, { cause: error });
}

/** Error that the client may see: faults of the server have one sentence. */
export function a2aErrorOf(thrown: unknown): A2aError {
  if (thrown instanceof A2aError) return thrown;
  if (thrown instanceof PublicError) return fromPublic(thrown);
  return new A2aError('internal', 'Internal error', [], { cause: thrown });
}

export function renderError(wire: Wire, id: RpcId, error: A2aError): JsonObject {
  const data = wire.renderErrorData(error);
  const { code, message } = error;
  return { jsonrpc: '2.0', id, error: { code, message, ...(data === undefined ? {} : { data }) } };
}

export function renderResult(id: RpcId, result: JsonObject): JsonObject {
  return { jsonrpc: '2.0', id, result };
}
