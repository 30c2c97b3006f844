import type { ObjectEntry } from './object-stat.js';
import { elementsOf, RequestError, textOf } from './object-store-error.js';

/** A page of the objects of a bucket. */
export interface ObjectsPage {
  readonly objects: Iterable<ObjectEntry>;
  /** Token of the next page; undefined on the last. */
  readonly next: string | undefined;
}

interface OpenUpload {
  readonly key: string;
  readonly uploadId: string;
}

/** A page of the open uploads of a bucket. */
export interface UploadsPage {
  readonly uploads: Iterable<OpenUpload>;
  /** Start of the next page; undefined on the last. */
  readonly next: { readonly keyMarker: string; readonly uploadIdMarker: string } | undefined;
}

/** @throws RequestError for an answer that is no such page */
export function readObjects(answer: string): ObjectsPage {
  const page = pageOf(answer, 'ListBucketResult');
  const next = isTruncated(page) ? textOf(page, 'NextContinuationToken') : undefined;
  return { objects: objectsOf(page), next };
}

/** @throws RequestError for an answer that is no such page */
export function readUploads(answer: string): UploadsPage {
  const page = pageOf(answer, 'ListMultipartUploadsResult');
  if (!isTruncated(page)) return { uploads: uploadsOf(page), next: undefined };
  const [keyMarker = '', uploadIdMarker = ''] = ['NextKeyMarker', 'NextUploadIdMarker'].map((name) =>
    textOf(page, name),
  );
  return { uploads: uploadsOf(page), next: { keyMarker, uploadIdMarker } };
}

/** The id of an upload that was begun. @throws RequestError for an answer without one */
export function readUploadId(answer: string): string {
  const id = textOf(pageOf(answer, 'InitiateMultipartUploadResult', 'POST'), 'UploadId');
  if (id === undefined || id === '') throw new RequestError('NotAnObjectStore', 'POST');
  return id;
}

function pageOf(answer: string, root: string, method = 'GET'): string {
  for (const page of elementsOf(answer, root)) return page;
  throw new RequestError('NotAnObjectStore', method);
}

function isTruncated(page: string): boolean {
  return textOf(page, 'IsTruncated') === 'true';
}

function* objectsOf(page: string): Generator<ObjectEntry, void, void> {
  // requested, since XML cannot hold every key; a store that does not know the parameter sends keys as they
  // are
  const isEncoded = textOf(page, 'EncodingType') === 'url';
  for (const object of elementsOf(page, 'Contents')) {
    const key = textOf(object, 'Key');
    if (key === undefined) continue;
    yield {
      key: isEncoded ? decodeURIComponent(key.replaceAll('+', ' ')) : key,
      size: Number(textOf(object, 'Size') ?? 0),
      etag: (textOf(object, 'ETag') ?? '').replace(/^"|"$/g, ''),
      lastModified: new Date(textOf(object, 'LastModified') ?? 0),
    };
  }
}

function* uploadsOf(page: string): Generator<OpenUpload, void, void> {
  for (const upload of elementsOf(page, 'Upload')) {
    const [key, uploadId] = [textOf(upload, 'Key'), textOf(upload, 'UploadId')];
    if (key !== undefined && uploadId !== undefined) yield { key, uploadId };
  }
}
