import { readFileSync } from 'node:fs';

/** No more than this is looked at, from the end. */
const TAIL_BYTES = 65_536;

interface LogLine {
  readonly level?: unknown;
  readonly msg?: unknown;
  readonly error?: unknown;
  readonly err?: { readonly message?: unknown };
}

function messageOf(text: string): string | undefined {
  let line: LogLine;
  try {
    line = JSON.parse(text) as LogLine;
  } catch {
    return undefined; // a program's own output, or half a line
  }
  if (line.level !== 'error' && line.level !== 'fatal') return undefined;
  const words = [line.err?.message, line.error, line.msg].find((one) => typeof one === 'string');
  return words;
}

/**
 * Text of the last error in a program's log.
 * @param start bytes of the file that are older and not looked at
 */
export function lastErrorIn(logFile: string, start: number): string | undefined {
  let bytes: Buffer;
  try {
    bytes = readFileSync(logFile);
  } catch {
    return undefined;
  }
  const tail = bytes.subarray(Math.max(start, bytes.length - TAIL_BYTES)).toString('utf8');
  for (const line of tail.split('\n').reverse()) {
    const message = messageOf(line);
    if (message !== undefined) return message;
  }
  return undefined;
}
