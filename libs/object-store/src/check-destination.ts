import { randomUUID } from 'node:crypto';
import { testObjectKey } from '#lib/export-plan';
import {
  classify,
  CredentialsRefusedError,
  EndpointRefusedError,
  type ObjectStoreError,
} from './object-store-error.js';
import type { DestinationCheck, DestinationMessage, ObjectStore } from './object-store.js';

/** Meanings of codes of the network, of TLS or of HTTP, for the author of the endpoint. */
const CAUSES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused; check host and port',
  ECONNRESET:
    'the connection was reset before an answer; check the port, and whether it speaks http or https',
  EPIPE: 'the connection was closed before an answer; check the port, and whether it speaks http or https',
  EHOSTUNREACH: 'the host cannot be reached from here',
  ENETUNREACH: 'the network of the host cannot be reached from here',
  ENOTFOUND: 'the name of the host does not resolve',
  EAI_AGAIN: 'the name of the host could not be resolved now; the name server did not answer',
  ETIMEDOUT: 'no answer in time',
  ServiceUnavailable: 'it reports that it is busy or down',
  SlowDown: 'it reports that it is busy',
  InternalError: 'it reports an error of its own',
  NotAnObjectStore: 'it answers, but not as an object store does',
  NothingStored: 'it accepted an object, and does not have it afterwards',
  EPROTO: 'it does not speak TLS; check whether it is http instead of https',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it speaks plain http, and endpoint_url says https',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'it speaks plain http, and endpoint_url says https',
  HPE_INVALID_CONSTANT: 'it does not answer in HTTP; check whether it is https instead of http',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet; check the clocks',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
};

/** Certificates whose authority is not trusted here; making it known is the operator's part. */
const UNTRUSTED: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is of an authority that is not trusted here',
  // an authority of that name is trusted, with another key: it was made anew
  CERT_SIGNATURE_FAILURE: 'its certificate is of another authority than the trusted one of that name',
  UNABLE_TO_GET_ISSUER_CERT: 'its certificate is of an authority that is not trusted here',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its certificate is of an authority that is not trusted here',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate is of an authority that is not trusted here',
};
const TRUST = 'start the platform with NODE_EXTRA_CA_CERTS=FILE, the certificate of its authority';

/** Reason why an endpoint cannot be used, for people. */
function endpointCause(code: string): string {
  const untrusted = Object.hasOwn(UNTRUSTED, code) ? UNTRUSTED[code] : undefined;
  if (untrusted !== undefined) return `${untrusted} (${code}); ${TRUST}`;
  const cause = Object.hasOwn(CAUSES, code) ? CAUSES[code] : undefined;
  return `${cause ?? 'it does not answer as an object store does'} (${code})`;
}

const BY_CODE: Readonly<Record<string, DestinationMessage>> = {
  InvalidAccessKeyId: 'Key ID you provided does not exist',
  AccessDenied: 'Access denied',
  AccountProblem: 'Access denied',
  AllAccessDisabled: 'Access denied',
  ExpiredToken: 'Access denied',
  Forbidden: 'Access denied',
  InvalidSecurity: 'Access denied',
  InvalidToken: 'Access denied',
  RequestTimeTooSkewed: 'Access denied',
  SignatureDoesNotMatch: 'Access denied',
  Unauthorized: 'Access denied',
  UserSuspended: 'Access denied',
  AccessControlListNotSupported: 'Bucket is not valid',
  AuthorizationHeaderMalformed: 'Bucket is not valid',
  IllegalLocationConstraintException: 'Bucket is not valid',
  InsufficientStorage: 'Bucket is not valid',
  InvalidBucketName: 'Bucket is not valid',
  InvalidBucketState: 'Bucket is not valid',
  InvalidEncryptionAlgorithmError: 'Bucket is not valid',
  InvalidRequest: 'Bucket is not valid',
  InvalidStorageClass: 'Bucket is not valid',
  MalformedACLError: 'Bucket is not valid',
  NoSuchBucket: 'Bucket is not valid',
  NotImplemented: 'Bucket is not valid',
  PermanentRedirect: 'Bucket is not valid',
  QuotaExceeded: 'Bucket is not valid',
  SecondLevelDomainForbidden: 'Bucket is not valid',
  XMinioStorageFull: 'Bucket is not valid',
};

/** Advice for a code whose cause is a field of the destination or the platform. */
const ADVICE: Readonly<Record<string, string>> = {
  RequestTimeTooSkewed: 'the clocks of the platform and the store differ',
  SecondLevelDomainForbidden:
    'the store wants the bucket in the host name: put it into endpoint_url and set include_bucket_in_prefix: false',
};

/** Everything else is an endpoint that is not there, or does not speak as an object store does. */
function destinationMessage({ code, isForbidden }: ObjectStoreError): DestinationMessage {
  const known = Object.hasOwn(BY_CODE, code) ? BY_CODE[code] : undefined;
  if (known !== undefined) return known;
  return isForbidden || code.startsWith('KMS.') ? 'Access denied' : 'Invalid endpoint';
}

const NOT_A_STORE = {
  kind: 'refused',
  message: 'Invalid endpoint',
  detail: 'NotAnObjectStore',
  advice: endpointCause('NotAnObjectStore'),
  retryable: false,
} as const satisfies DestinationCheck;

/** Result for a store that accepted an object and does not find it: exports cannot use it. */
const NOTHING_STORED = {
  ...NOT_A_STORE,
  detail: 'NothingStored',
  advice: endpointCause('NothingStored'),
} as const satisfies DestinationCheck;

/** The failure of a test in the words of the interface, and its cause. */
export function refusal(failure: ObjectStoreError): DestinationCheck {
  const isOfCredentials = failure instanceof CredentialsRefusedError;
  const message = isOfCredentials ? 'Access denied' : destinationMessage(failure);
  const isRefusedHere = isOfCredentials || failure instanceof EndpointRefusedError;
  return {
    kind: 'refused',
    message,
    detail: failure.code,
    advice: isRefusedHere ? failure.advice : causeText(failure, message),
    // a store that answers is reachable, even if its refusal may pass
    retryable: failure.retryable && (isOfCredentials || message === 'Invalid endpoint'),
  };
}

/** The store's code and its own sentence. */
function causeText({ code, sentence }: ObjectStoreError, message: DestinationMessage): string {
  const cause = message === 'Invalid endpoint' ? endpointCause(code) : code;
  const advice = Object.hasOwn(ADVICE, code) ? ADVICE[code] : undefined;
  const words = sentence === undefined ? '' : `: ${sentence}`;
  return `${cause}${words}${advice === undefined ? '' : `; ${advice}`}`;
}

interface TestedPlace {
  readonly bucket: string;
  readonly prefix: string | undefined;
  /** Name of the test object, without its ending; one that is tested again and again has its own, since it may stay. */
  readonly name?: string | undefined;
  /** Encryption that is requested from the store. */
  readonly serverSideEncryption?: string | undefined;
}

/**
 * Tries out the operations that an export needs, and the optional ones.
 * @throws Error when the prefix is invalid: a prefix from a person is checked before
 */
export async function checkDestination(
  store: ObjectStore,
  { bucket, prefix, name = randomUUID(), serverSideEncryption }: TestedPlace,
): Promise<DestinationCheck> {
  const key = testObjectKey(prefix ?? '', name);
  const body = 'This object tests whether exports can be written here. It may be deleted.\n';
  let isEncryptionUnconfirmed = false;
  try {
    const answer = await store.put(bucket, key, body, { contentType: 'text/plain' });
    // any web server may answer 200; a store reports the stored object
    if (answer.etag === '') return NOT_A_STORE;
    isEncryptionUnconfirmed = answer.serverSideEncryption !== serverSideEncryption;
  } catch (error) {
    return refusal(classify(error, 'test the destination'));
  }
  const seen = await lookFor(store, bucket, key);
  if (seen.kind === 'failed') return refusal(seen.failure);
  // a store that keeps nothing may well accept everything; if the key may not read, the two cannot be
  // distinguished
  if (seen.kind === 'missing') return NOTHING_STORED;
  // a server that answers the same to everything does not know the length of the object either
  if (seen.kind === 'found' && seen.size !== Buffer.byteLength(body)) return NOT_A_STORE;
  const canDelete = await store.delete(bucket, key).then(
    () => true,
    () => false,
  );
  return {
    kind: 'usable',
    canDelete,
    canRead: seen.kind === 'found',
    // a bucket may encrypt by itself without a request for encryption
    ...(serverSideEncryption !== undefined && isEncryptionUnconfirmed ? { isEncryptionUnconfirmed } : {}),
  };
}

type Look =
  | { readonly kind: 'found'; readonly size: number }
  | { readonly kind: 'missing' | 'refused' }
  | { readonly kind: 'failed'; readonly failure: ObjectStoreError };

/** Looks for an object. S3 answers 403 for an existing object to a key that may not read, never 404. */
async function lookFor(store: ObjectStore, bucket: string, key: string): Promise<Look> {
  try {
    const found = await store.stat(bucket, key);
    return found ? { kind: 'found', size: found.size } : { kind: 'missing' };
  } catch (error) {
    const failure = classify(error, 'read the test object');
    return failure.code === 'AccessDenied' ? { kind: 'refused' } : { kind: 'failed', failure };
  }
}
