import type { Readable } from 'node:stream';
import type { KubeObject } from '#lib/resources';
import { jsonLines } from './json-lines.js';
import { KubeUnreachableError } from './kube-unreachable-error.js';
import { errorOfStatus } from './parse-status.js';
import type { WatchEvent } from './request-options.js';

/** The events of a watch as they come. Throws the error of an ERROR event, and `KubeUnreachableError` when the stream breaks. */
export async function* watchedEvents<T extends KubeObject>(
  stream: Readable,
  path: string,
): AsyncGenerator<WatchEvent<T>, void, void> {
  for await (const line of jsonLines(brokenAsUnreachable(stream, path))) yield parseEvent<T>(line);
}

function parseEvent<T extends KubeObject>(line: unknown): WatchEvent<T> {
  const { type, object } = line as { type: string; object: T };
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
      return { type, object };
    case 'BOOKMARK':
      return { type, resourceVersion: object.metadata.resourceVersion ?? '' };
    case 'ERROR':
      throw errorOfStatus(object, 500);
    default:
      throw new Error(`the API server sent a watch event of the unknown type ${JSON.stringify(type)}`);
  }
}

/** Wraps errors of the socket while a body is read in the class that callers know. */
async function* brokenAsUnreachable(stream: Readable, path: string): AsyncGenerator<Uint8Array, void, void> {
  try {
    for await (const chunk of stream) yield chunk as Uint8Array;
  } catch (error) {
    throw new KubeUnreachableError('GET', path, error);
  }
}
