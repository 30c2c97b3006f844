import { randomUUID } from 'node:crypto';
import { testObjectKey } from '#lib/export-plan';
import { classify, EndpointRefusedError, type ObjectStoreError } from './object-store-error.js';
import type { DestinationCheck, DestinationMessage, ObjectStore } from './object-store.js';

const BY_CODE: Readonly<Record<string, DestinationMessage>> = {
  InvalidAccessKeyId: 'Key ID you provided does not exist',
  AccessDenied: 'Access denied',
  AccountProblem: 'Access denied',
  AllAccessDisabled: 'Access denied',
  ExpiredToken: 'Access denied',
  InvalidToken: 'Access denied',
  RequestTimeTooSkewed: 'Access denied',
  SignatureDoesNotMatch: 'Access denied',
  AuthorizationHeaderMalformed: 'Bucket is not valid',
  IllegalLocationConstraintException: 'Bucket is not valid',
  InvalidBucketName: 'Bucket is not valid',
  NoSuchBucket: 'Bucket is not valid',
  PermanentRedirect: 'Bucket is not valid',
};

/** Everything else is an endpoint that is not there, or does not speak as an object store does. */
function destinationMessage(error: ObjectStoreError): DestinationMessage {
  return (Object.hasOwn(BY_CODE, error.code) ? BY_CODE[error.code] : undefined) ?? 'Invalid endpoint';
}

/**
 * Tries out what an export needs, and what it would like.
 * @throws Error when the prefix is none: a prefix from a person is checked before
 */
export async function checkDestination(
  store: ObjectStore,
  bucket: string,
  prefix: string | undefined,
): Promise<DestinationCheck> {
  const key = testObjectKey(prefix ?? '', randomUUID());
  const body = 'This object tests whether exports can be written here. It may be deleted.\n';
  try {
    const { etag } = await store.put(bucket, key, body, { contentType: 'text/plain' });
    // any web server may answer 200; a store says what it has stored
    if (etag === '')
      return { kind: 'refused', message: 'Invalid endpoint', detail: 'NotAnObjectStore', retryable: false };
  } catch (error) {
    const failure = classify(error, 'test the destination');
    return {
      kind: 'refused',
      message: destinationMessage(failure),
      detail: failure.code,
      ...(failure instanceof EndpointRefusedError ? { advice: failure.advice } : {}),
      retryable: failure.retryable,
    };
  }
  const canRead = await store.stat(bucket, key).then(
    (found) => found !== undefined,
    () => false,
  );
  const canDelete = await store.delete(bucket, key).then(
    () => true,
    () => false,
  );
  return { kind: 'usable', canDelete, canRead };
}
