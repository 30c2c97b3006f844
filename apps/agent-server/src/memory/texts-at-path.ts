import { isJsonObject } from '#lib/json';

/** The whole value. */
const WHOLE = '$';

/** `a.b[0].{c,d}.*` into `a`, `b`, `[0]`, `{c,d}`, `*`. */
const PARTS = /\[[^\]]*\]|\{[^}]*\}|[^.[{]+/g;

function textOf(value: unknown): string[] {
  if (value === null || value === undefined) return [];
  const text = typeof value === 'object' ? JSON.stringify(value, null, 2) : String(value);
  return text.trim() === '' ? [] : [text];
}

/** Members by name, own ones alone. */
function member(value: unknown, name: string): unknown[] {
  return isJsonObject(value) && Object.hasOwn(value, name) ? [value[name]] : [];
}

function item(value: unknown, index: string): unknown[] {
  if (!Array.isArray(value)) return [];
  if (index === '*') return value;
  const at = Number(index);
  return Number.isInteger(at) && at >= -value.length && at < value.length ? [value.at(at)] : [];
}

function step(value: unknown, part: string): unknown[] {
  if (part.startsWith('[')) return item(value, part.slice(1, -1));
  if (part.startsWith('{'))
    return part
      .slice(1, -1)
      .split(',')
      .flatMap((path) => valuesAt(value, path.trim()));
  if (part !== '*') return member(value, part);
  return typeof value === 'object' && value !== null ? Object.values(value) : [];
}

function valuesAt(value: unknown, path: string): unknown[] {
  const parts: readonly string[] = path.match(PARTS) ?? [];
  return parts.reduce<unknown[]>((values, part) => values.flatMap((one) => step(one, part)), [value]);
}

/**
 * The texts that stand at a path of a value, in the notation of LangGraph's stores: `title`, `metadata.title`,
 * `chapters[*].text`, `authors[-1]`, `{title,summary}`, `*`, and `$` for the whole value as JSON.
 */
export function textsAtPath(value: unknown, path: string): string[] {
  return path === WHOLE || path === '' ? textOf(value) : valuesAt(value, path).flatMap(textOf);
}
