/** Refusal of a request by an agent's own handler. */
export class AuthRefusal extends Error {
  override readonly name = 'AuthRefusal';

  constructor(
    readonly status: number,
    readonly detail: string,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(detail);
  }
}

const CHALLENGE = { 'www-authenticate': 'Bearer error="invalid_token"' };

/** A library of the agent found that the token of a request is not valid. */
export function tokenRefusal(): AuthRefusal {
  return new AuthRefusal(401, 'The token is not valid', CHALLENGE);
}

const WORDS: Readonly<Record<number, string>> = {
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not found',
};

/** Headers of the server's own answer. */
const OWN_HEADERS = /^(content-|transfer-encoding$|connection$|keep-alive$|access-control-|vary$|date$)/;

function headersOf(given: unknown): Record<string, string> {
  try {
    const headers = [...new Headers(given as ConstructorParameters<typeof Headers>[0])];
    return Object.fromEntries(headers.filter(([name]) => !OWN_HEADERS.test(name)));
  } catch {
    return {}; // no headers
  }
}

/**
 * The `HTTPException` that a handler threw; it may be a class of another copy of the SDK.
 * @returns undefined for any other error
 */
export function refusalOf(error: unknown): AuthRefusal | undefined {
  if (typeof error !== 'object' || error === null || !('status' in error) || !('headers' in error))
    return undefined;
  const { status, headers } = error;
  if (typeof status !== 'number' || !Number.isInteger(status) || status < 400 || status > 599)
    return undefined;
  const message = 'message' in error && typeof error.message === 'string' ? error.message : '';
  // an error makes this text of an object that it is given as its message
  const words = message === '[object Object]' ? '' : message;
  return new AuthRefusal(status, words || (WORDS[status] ?? 'Refused'), headersOf(headers));
}
