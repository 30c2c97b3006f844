import type { RequestOptions } from 'node:http';

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };
const MAX_CODE_POINT = 0x10ffff;

/**
 * The inner texts of all elements of a name, in order, each when it is asked for. Enough for the flat
 * documents of stores, and no more: the author of the endpoint may answer text on which a full parser of XML
 * hangs for minutes, since that keeps the path of every element.
 */
export function* elementsOf(xml: string, name: string): Generator<string, void, void> {
  const [open, close] = [`<${name}`, `</${name}>`];
  // each search continues where the last one ended
  for (let at = xml.indexOf(open); at >= 0; at = xml.indexOf(open, at)) {
    at += open.length;
    if (!/[\s>]/.test(xml.charAt(at))) continue;
    const begin = xml.indexOf('>', at) + 1;
    const end = begin > 0 ? xml.indexOf(close, begin) : -1;
    if (end < 0) return;
    yield xml.slice(begin, end);
    at = end + close.length;
  }
}

/** The text of the first element of that name. */
export function textOf(xml: string, name: string): string | undefined {
  for (const found of elementsOf(xml, name)) return unescape(found).trim();
  return undefined;
}

function unescape(text: string): string {
  return text.replace(/&(#x?[0-9a-fA-F]{1,6}|[a-z]{2,4});/g, (whole, name: string) => {
    if (!name.startsWith('#')) return ENTITIES[name] ?? whole;
    const code = name.startsWith('#x') ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1));
    return code <= MAX_CODE_POINT ? String.fromCodePoint(code) : whole;
  });
}

const MAX_LETTERS = 300;
const HIDDEN = '[hidden]';
/** Tokens, signatures and hashes; words and names of people's resources have other characters in between. */
const LONG_TOKEN = /[A-Za-z0-9+/%=]{40,}/g;

/**
 * The sentence of a store's error for statuses and messages: one line, shortened, and without what could be a secret. A
 * server may repeat anything that a request carries, so the request's own credentials are taken out by their values.
 */
export function storeSentence(
  text: string,
  { headers = {} }: Pick<RequestOptions, 'headers'>,
): string | undefined {
  let sentence = textOf(text, 'Message') ?? '';
  for (const secret of credentialsOf(headers)) sentence = sentence.replaceAll(secret, HIDDEN);
  sentence = sentence
    .replace(/\?\S{8,}/g, '?…')
    .replace(LONG_TOKEN, HIDDEN)
    .replace(/[\s\p{Cc}\p{Cf}]+/gu, ' ')
    .trim();
  if (sentence === '') return undefined;
  return sentence.length > MAX_LETTERS ? `${sentence.slice(0, MAX_LETTERS)}…` : sentence;
}

/** The key id, the signature and the session token of a request. */
function credentialsOf(headers: NonNullable<RequestOptions['headers']>): readonly string[] {
  const signed = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value)] as const);
  const { authorization = '', 'x-amz-security-token': token = '' } = Object.fromEntries(signed);
  const [, keyId = ''] = /Credential=([^/,\s]+)/.exec(authorization) ?? [];
  const [, signature = ''] = /Signature=(\w+)/.exec(authorization) ?? [];
  return [token, encodeURIComponent(token), signature, keyId].filter((secret) => secret.length > 3);
}

/** Codes of stores that stand for the same as one of S3's own. */
const SAME: ReadonlyMap<string, string> = new Map([
  ['XAdminUserNotFound', 'InvalidAccessKeyId'],
  ['InvalidClientTokenId', 'InvalidAccessKeyId'],
  ['NotFound', 'NoSuchKey'],
]);

/** Codes get into messages and statuses, so their form is limited: the server may write anything there. */
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
  // bytes were changed on their way
  'BadDigest',
]);
/** Space or a clock that a person or time mends, without any change to the destination. */
const PASSING = new Set([
  'InsufficientStorage',
  'KMS.InternalException',
  'KMS.ThrottlingException',
  'QuotaExceeded',
  'RequestTimeTooSkewed',
  'XMinioStorageFull',
]);
/** Codes by which the store, or the network before it, reports that nothing was done. */
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
/** A person has to change credentials, bucket or permissions; or the store will never support the request. */
const CONFIGURATION = new Set([
  'AccessControlListNotSupported',
  'AccessDenied',
  'AccountProblem',
  'AllAccessDisabled',
  'AuthorizationHeaderMalformed',
  'EntityTooLarge',
  'EntityTooSmall',
  'ExpiredToken',
  'Forbidden',
  'InvalidAccessKeyId',
  'InvalidArgument',
  'InvalidBucketName',
  'InvalidBucketState',
  'InvalidDigest',
  'InvalidEncryptionAlgorithmError',
  'InvalidEndpoint',
  'InvalidRequest',
  'InvalidSecurity',
  'InvalidStorageClass',
  'InvalidToken',
  'InvalidURI',
  'KeyTooLongError',
  'MalformedACLError',
  'MalformedXML',
  'MethodNotAllowed',
  'MissingContentLength',
  'NoSuchBucket',
  'NotImplemented',
  'NotSignedUp',
  'PermanentRedirect',
  'PrivateEndpoint',
  'SecondLevelDomainForbidden',
  'SignatureDoesNotMatch',
  'Unauthorized',
  'UserSuspended',
]);

/** A right that the key may lack, or an operation that some stores do not have. */
const WITHHELD = new Set(['AccessDenied', 'MethodNotAllowed', 'NotImplemented']);

/** Contents of an answer besides its code. */
interface StoreAnswer {
  readonly sentence?: string | undefined;
  readonly status?: number | undefined;
}

/**
 * A store refused, was busy or could not be reached. `code` is the store's own word (`NoSuchBucket`), or the network's
 * (`ECONNRESET`); the message repeats neither addresses nor credentials.
 */
export class ObjectStoreError extends Error {
  /** The store's own sentence, shortened and without secrets. */
  readonly sentence: string | undefined;
  /** Status of HTTP, if the store refused with it. */
  readonly status: number | undefined;

  constructor(
    readonly code: string,
    /** Attempted operation, for example `put exports/tmp/1.txt in bucket b`. */
    readonly attempted: string,
    { sentence, status, ...options }: StoreAnswer & ErrorOptions = {},
  ) {
    const words = sentence === undefined ? '' : `; it says: ${sentence}`;
    super(`The object store answered ${code} to: ${attempted}${words}`, options);
    this.name = 'ObjectStoreError';
    this.sentence = sentence;
    this.status = status;
  }

  /** The same request may succeed later. */
  get retryable(): boolean {
    const isBusy = this.cause instanceof RequestError && this.cause.isBusy;
    return isBusy || BUSY.has(this.code) || PASSING.has(this.code) || NETWORK.has(this.code);
  }

  /** The same request may succeed later, and this one has certainly had no effect. */
  get isWithoutEffect(): boolean {
    return NOTHING_DONE.has(this.code);
  }

  /** The key has no right to this, or the store has no such operation: no failure if it is optional. */
  get isWithheld(): boolean {
    return WITHHELD.has(this.code);
  }

  /** Credentials, bucket or permissions must be changed by a person: trying again cannot help. */
  get isConfiguration(): boolean {
    if (this.retryable) return false;
    return CONFIGURATION.has(this.code) || this.code.startsWith('KMS.') || this.isForbidden;
  }

  /** The store knows the request and does not allow it, whatever its word for that is. */
  get isForbidden(): boolean {
    return this.status === 401 || this.status === 403;
  }
}

/** Error of a connection: the request has no name yet, which its caller adds. */
export class RequestError extends ObjectStoreError {
  constructor(
    code: string,
    method: string,
    /** True when the status says that the store is busy: a store may have a word of its own for it. */
    readonly isBusy = false,
    answer: StoreAnswer = {},
  ) {
    super(code, `${method} request`, answer);
    this.name = 'RequestError';
  }
}

/** The endpoint itself is refused before anything is dialled; `advice` has the reason and a remedy. */
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

/** Nothing is dialled, since there are no credentials to sign with; `advice` has the reason and a remedy. */
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
  if (thrown instanceof RequestError && attempted !== '') {
    const { code, sentence, status } = thrown;
    return new ObjectStoreError(code, attempted, { sentence, status, cause: thrown });
  }
  if (thrown instanceof ObjectStoreError) return thrown;
  // the client wraps errors of its look-up of credentials
  if (thrown instanceof Error && thrown.cause instanceof CredentialsRefusedError) return thrown.cause;
  return new ObjectStoreError(codeOf(thrown), attempted, { ...answerOf(thrown), cause: thrown });
}

/**
 * The client passes on the parts of an error from `boundedAnswer` as properties; an error without a status is
 * not the store's.
 */
function answerOf(thrown: unknown): StoreAnswer {
  if (typeof thrown !== 'object' || thrown === null) return {};
  if (!('status' in thrown) || typeof thrown.status !== 'number') return {};
  const sentence = 'message' in thrown ? String(thrown.message) : '';
  return { status: thrown.status, ...(sentence === '' ? {} : { sentence }) };
}

function codeOf(thrown: unknown): string {
  if (typeof thrown !== 'object' || thrown === null) return 'Unknown';
  if ('code' in thrown && typeof thrown.code === 'string' && CODE.test(thrown.code))
    return SAME.get(thrown.code) ?? thrown.code;
  // the client checks names before it sends a request, and reports the problem by class only
  const name = thrown.constructor.name;
  if (name === 'InvalidBucketNameError') return 'InvalidBucketName';
  if (name === 'InvalidEndpointError') return 'InvalidEndpoint';
  return 'NotAnObjectStore';
}
