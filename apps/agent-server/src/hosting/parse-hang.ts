import { isJsonObject, parseShort } from '#lib/json';

/** Place where a host hangs, as its watch saw it. */
interface Hang {
  readonly stack: readonly string[];
  readonly runId?: string;
  readonly graphId?: string;
  readonly node?: string;
}

/** Limit of a line with a stack of functions. */
const MAX_LINE_CHARS = 256 * 1024;
const TEXTS = ['runId', 'graphId', 'node'] as const;

/**
 * Parses a report of the watch. Other code has its descriptor too: anything else that it writes is ignored.
 */
export function parseHang(line: string): Hang | undefined {
  try {
    const found = parseShort(line, MAX_LINE_CHARS);
    return isHang(found) ? found : undefined;
  } catch {
    return undefined;
  }
}

function isHang(found: unknown): found is Hang {
  if (!isJsonObject(found)) return false;
  const { stack } = found;
  return (
    Array.isArray(stack) &&
    stack.every((one) => typeof one === 'string') &&
    TEXTS.every((name) => found[name] === undefined || typeof found[name] === 'string')
  );
}
