import { A2aError } from './a2a-error.js';
import { unknownMethod } from './envelope.js';
import type { Operation, Wire } from './wire.js';
import { WIRE_03 } from './wire-03.js';
import { WIRE_10 } from './wire-10.js';

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
