import { lineTime, type LogLine, MAX_LINE_BYTES } from './log-line.js';

const LINE_END = 0x0a;

/** A line of the stream: the start of it that is kept, and its whole length. */
interface RawLine {
  readonly kept: Buffer;
  readonly bytes: number;
}

/**
 * The lines of a log that was asked for with timestamps, as many at once as came. A line longer than `MAX_LINE_BYTES` is
 * cut while it is read. One without a time (a note of the node) has the time of the line before it.
 * @param startTime of lines before the first that has a time
 */
export async function* readLines(
  stream: AsyncIterable<Buffer>,
  source: Pick<LogLine, 'pod' | 'container'>,
  startTime: string,
): AsyncGenerator<readonly LogLine[], void, void> {
  let time = startTime;
  const parsed = (raw: RawLine): LogLine => {
    const line = parseLine(raw, source, time);
    time = line.time;
    return line;
  };
  let parts: Buffer[] = [];
  let bytes = 0;
  const take = (part: Buffer): void => {
    if (bytes < MAX_RAW_BYTES && part.length > 0) parts.push(part.subarray(0, MAX_RAW_BYTES - bytes));
    bytes += part.length;
  };
  const end = (): RawLine => {
    const line = { kept: Buffer.concat(parts), bytes };
    [parts, bytes] = [[], 0];
    return line;
  };
  for await (const chunk of stream) {
    const lines: LogLine[] = [];
    let start = 0;
    for (let at = chunk.indexOf(LINE_END); at !== -1; at = chunk.indexOf(LINE_END, start)) {
      take(chunk.subarray(start, at));
      lines.push(parsed(end()));
      start = at + 1;
    }
    take(chunk.subarray(start));
    if (lines.length > 0) yield lines;
  }
  if (bytes > 0) yield [parsed(end())];
}

/** Limit with the time before it. */
const MAX_RAW_BYTES = MAX_LINE_BYTES + 64;

function parseLine(
  { kept, bytes }: RawLine,
  { pod, container }: Pick<LogLine, 'pod' | 'container'>,
  lastTime: string,
): LogLine {
  const space = kept.indexOf(0x20);
  const found = lineTime(kept.toString('latin1', 0, Math.max(0, Math.min(space, 40))));
  const from = found === undefined ? 0 : space + 1;
  const length = Math.min(kept.length - from, MAX_LINE_BYTES);
  const cutBytes = bytes - from - length;
  return {
    time: found ?? lastTime,
    pod,
    container,
    text: kept.toString('utf8', from, from + length),
    ...(cutBytes > 0 ? { cutBytes } : {}),
  };
}
