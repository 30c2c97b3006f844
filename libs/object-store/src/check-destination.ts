import { randomUUID } from 'node:crypto';
import { testObjectKey } from '#lib/export-plan';
import { endpointCause } from './endpoint-cause.js';
import {
  classify,
  CredentialsRefusedError,
  EndpointRefusedError,
  type ObjectStoreError,
} from './object-store-error.js';
import type { DestinationCheck, DestinationMessage, ObjectStore } from './object-store.js';

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
