/** Codes of stores that stand for the same as one of S3's own. */
const SAME: ReadonlyMap<string, string> = new Map([
  ['XAdminUserNotFound', 'InvalidAccessKeyId'],
  ['InvalidClientTokenId', 'InvalidAccessKeyId'],
  ['NotFound', 'NoSuchKey'],
]);

/** Codes get into messages and statuses: whoever answers may write anything there. */
const CODE = /^[A-Za-z][\w.-]{0,63}$/;

const BUSY = new Set([
  'SlowDown',
  'InternalError',
  'ServiceUnavailable',
  'RequestTimeout',
  'OperationAborted',
  // another request concerned the same key at the same time
  'ConditionalRequestConflict',
  'SizeMismatch',
  // the service that hands out those of a role may be away for a moment
  'NoCredentials',
]);
/** The store, or the network before it, has said that it did nothing. */
const NOTHING_DONE = new Set([
  'SlowDown',
  'ServiceUnavailable',
  'ConditionalRequestConflict',
  'ECONNREFUSED',
  'EAI_AGAIN',
  'ENETUNREACH',
]);
const NETWORK = new Set([
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ECONNREFUSED',
  'EAI_AGAIN',
  'ENETUNREACH',
  'EHOSTUNREACH',
]);
/** A person has to change credentials, bucket or permissions. */
const CONFIGURATION = new Set([
  'AccessDenied',
  'AccountProblem',
  'AllAccessDisabled',
  'AuthorizationHeaderMalformed',
  'ExpiredToken',
  'InvalidAccessKeyId',
  'InvalidBucketName',
  'InvalidEndpoint',
  'InvalidToken',
  'NoSuchBucket',
  'PermanentRedirect',
  'PrivateEndpoint',
  'SignatureDoesNotMatch',
]);

/** A right that the key may lack, or an operation that some stores do not have. */
const WITHHELD = new Set(['AccessDenied', 'MethodNotAllowed', 'NotImplemented']);

/**
 * A store refused, was busy or could not be reached. `code` is the store's own word (`NoSuchBucket`), or the network's
 * (`ECONNRESET`); the message repeats neither addresses nor credentials.
 */
export class ObjectStoreError extends Error {
  constructor(
    readonly code: string,
    /** What was attempted, for example `put exports/tmp/1.txt in bucket b`. */
    readonly attempted: string,
    options?: ErrorOptions,
  ) {
    super(`The object store answered ${code} to: ${attempted}`, options);
    this.name = 'ObjectStoreError';
  }

  /** The same request may succeed later. */
  get retryable(): boolean {
    const isBusy = this.cause instanceof RequestError && this.cause.isBusy;
    return isBusy || BUSY.has(this.code) || NETWORK.has(this.code);
  }

  /** The same request may succeed later, and this one has certainly had no effect. */
  get isWithoutEffect(): boolean {
    return NOTHING_DONE.has(this.code);
  }

  /** The key has no right to this, or the store has no such operation: no failure where it is optional. */
  get isWithheld(): boolean {
    return WITHHELD.has(this.code);
  }

  /** Credentials, bucket or permissions must be changed by a person. */
  get isConfiguration(): boolean {
    return CONFIGURATION.has(this.code);
  }
}

/** What a connection met: the request has no name yet, which whoever made it gives it. */
export class RequestError extends ObjectStoreError {
  constructor(
    code: string,
    method: string,
    /** By the status: a store may have a word of its own for it. */
    readonly isBusy = false,
  ) {
    super(code, `${method} request`);
    this.name = 'RequestError';
  }
}

/** The endpoint itself is refused before anything is dialled; `advice` says why and what to do. */
export class EndpointRefusedError extends ObjectStoreError {
  constructor(
    code: 'InvalidEndpoint' | 'PrivateEndpoint',
    readonly advice: string,
  ) {
    super(code, 'connect to the endpoint');
    this.name = 'EndpointRefusedError';
    this.message = `Invalid endpoint: ${advice}`;
  }
}

/** Nothing is dialled: there are no credentials to sign with; `advice` says why and what to do. */
export class CredentialsRefusedError extends ObjectStoreError {
  constructor(
    readonly advice: string,
    code: 'AccessDenied' | 'NoCredentials' = 'AccessDenied',
    options?: ErrorOptions,
  ) {
    super(code, 'sign requests to the endpoint', options);
    this.name = 'CredentialsRefusedError';
    this.message = `Access denied: ${advice}`;
  }
}

/** Gives anything the client throws its code. The cause is kept for logs of programs, not for statuses. */
export function classify(thrown: unknown, attempted: string): ObjectStoreError {
  if (thrown instanceof RequestError && attempted !== '')
    return new ObjectStoreError(thrown.code, attempted, { cause: thrown });
  if (thrown instanceof ObjectStoreError) return thrown;
  // the client wraps what its look-up of credentials throws
  if (thrown instanceof Error && thrown.cause instanceof CredentialsRefusedError) return thrown.cause;
  return new ObjectStoreError(codeOf(thrown), attempted, { cause: thrown });
}

function codeOf(thrown: unknown): string {
  if (typeof thrown !== 'object' || thrown === null) return 'Unknown';
  if ('code' in thrown && typeof thrown.code === 'string' && CODE.test(thrown.code))
    return SAME.get(thrown.code) ?? thrown.code;
  // the client checks names before it asks, and says so by class only
  const name = thrown.constructor.name;
  if (name === 'InvalidBucketNameError') return 'InvalidBucketName';
  if (name === 'InvalidEndpointError') return 'InvalidEndpoint';
  return 'NotAnObjectStore';
}
