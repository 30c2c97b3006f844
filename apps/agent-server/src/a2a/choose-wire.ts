import { PublicError } from '#lib/errors';
import type { JsonObject } from '#lib/json';
import { A2aError, type A2aErrorKind, type RpcId, unknownMethod } from './envelope.js';
import { WIRE_03 } from './wire-03.js';
import { WIRE_10 } from './wire-10.js';
import type { Operation, Wire } from './wire.js';

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

export function renderResult(id: RpcId, result: unknown): JsonObject {
  return { jsonrpc: '2.0', id, result };
}

const SHOWN_VERSION_CHARS = 40;

/**
 * The wire that a header `A2A-Version` names; numbers of patches do not count.
 * @throws A2aError `versionNotSupported`
 */
export function wireOfVersion(version: string | undefined): Wire {
  const [, minor = ''] = /^\s*(\d+\.\d+)(?:\.\d+)?\s*$/.exec(version ?? '') ?? [];
  if (version === undefined || version.trim() === '' || minor === WIRE_03.version) return WIRE_03;
  if (minor === WIRE_10.version) return WIRE_10;
  throw new A2aError(
    'versionNotSupported',
    `Version "${version.slice(0, SHOWN_VERSION_CHARS)}" is not supported; use 0.3 or 1.0`,
  );
}

export interface ChosenMethod {
  readonly wire: Wire;
  readonly operation: Operation;
}

/**
 * Chooses the wire by the method: its names differ between the versions, so a known one is more reliable than
 * the header.
 * @throws A2aError `methodNotFound`
 */
export function chooseMethod(method: string): ChosenMethod {
  for (const wire of [WIRE_03, WIRE_10]) {
    const operation = wire.methods.get(method);
    if (operation) return { wire, operation };
  }
  throw unknownMethod(method);
}
