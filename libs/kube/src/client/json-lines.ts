import { parseJson } from '#lib/json';

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
