import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';

/** Limit per line; a longer one comes in pieces: a writer without line ends must not fill this process. */
const MAX_LINE_CHARS = 64 * 1024;

/** Reads a stream of text line by line. */
export function onLines(stream: Readable, onLine: (line: string) => void): void {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  const take = (text: string): void => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) onLine(line);
    for (; rest.length > MAX_LINE_CHARS; rest = rest.slice(MAX_LINE_CHARS))
      onLine(rest.slice(0, MAX_LINE_CHARS));
  };
  stream.on('data', (chunk: Buffer) => take(decoder.write(chunk)));
  // a destroyed stream emits no end
  stream.on('close', () => {
    take(decoder.end());
    if (rest !== '') onLine(rest);
  });
}
