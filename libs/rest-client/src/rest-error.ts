/** The REST interface answered, and not with what was asked for; asking again as it is gives the same below 500. */
export class RestError extends Error {
  constructor(
    /** HTTP status. */
    readonly status: number,
    message: string,
    /** `detail` of the answer as it came, and the pause that the server asks for. */
    readonly answer: { readonly detail?: unknown; readonly retryAfterMs?: number | undefined } = {},
  ) {
    super(message);
    this.name = 'RestError';
  }
}

/** No answer; the cause holds the error of the connection. */
export class RestUnreachableError extends Error {
  constructor(url: string, cause: unknown) {
    const trust = isOfTrust(cause)
      ? ': its certificate is not trusted; compare its fingerprint with that of "agentplane status" there and give its file as --ca-file'
      : '';
    super(`the REST interface at ${url} did not answer${trust}`, { cause });
    this.name = 'RestUnreachableError';
  }
}

const UNTRUSTED = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/** True when an error, or one that led to it, is about the issuer of a certificate. */
function isOfTrust(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return ('code' in error && UNTRUSTED.has(String(error.code))) || isOfTrust(error.cause);
}

/** The address redirects. No redirect is followed: the key would go to wherever it leads. */
export class RestRedirectError extends Error {
  constructor(url: string, { status, headers }: Response) {
    const location = headers.get('location') ?? 'nowhere';
    super(
      `the REST interface at ${url} redirects to ${location} (HTTP ${status}); give the address that it moved to`,
    );
    this.name = 'RestRedirectError';
  }
}
