import type { Readable } from 'node:stream';
import { parseJson } from '#lib/json';
import type { KubeObject } from '#lib/resources';
import { errorOfStatus, KubeUnreachableError } from './kube-api-error.js';
import type { WatchEvent } from './request-options.js';

/** etcd refuses objects over 1.5 MB; a line this long is no watch event but a broken peer. */
const MAX_LINE_BYTES = 64 * 1024 * 1024;

/** The JSON documents of a stream, one a line, as they arrive; holds no more than the line it is reading. */
export async function* jsonLines(stream: AsyncIterable<Uint8Array>): AsyncGenerator<unknown, void, void> {
  let pending: Buffer[] = [];
  let pendingBytes = 0;
  for await (const chunk of stream) {
    let rest = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    for (let end = rest.indexOf(10); end !== -1; end = rest.indexOf(10)) {
      const line =
        pending.length === 0 ? rest.subarray(0, end) : Buffer.concat([...pending, rest.subarray(0, end)]);
      pending = [];
      pendingBytes = 0;
      rest = rest.subarray(end + 1);
      if (line.length > 0) yield parseJson(line.toString('utf8'));
    }
    if (rest.length > 0) pending.push(rest);
    pendingBytes += rest.length;
    if (pendingBytes > MAX_LINE_BYTES)
      throw new Error(`a line of the stream is longer than ${MAX_LINE_BYTES} bytes`);
  }
  if (pendingBytes > 0) throw new Error('the stream ended in the middle of a line');
}

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
