import { PublicError } from '#lib/errors';
import { isJsonObject } from '#lib/json';

/** The whole value. */
const WHOLE = '$';

/**
 * Splits `a.b[0].{c,d}.*` into `a`, `b`, `[0]`, `{c,d}`, `*`. Each character is looked at once or twice,
 * whatever the path.
 */
const PARTS = /\[[^\][]*\]|\{[^{}]*\}|[^.[{]+/g;

/** Limit of values that are visited on all paths: `{a,a}.{a,a}` and so on doubles them with each part. */
const MAX_STEPS = 500_000;

/** Limit for all texts of one item: more than models take, and little enough for this process. */
const MAX_CHARS = 4 * 1024 * 1024;

/** Remaining budget for the texts of one item. */
export class TextBudget {
  #steps = MAX_STEPS;
  #chars = MAX_CHARS;

  /** Characters that are left. */
  get chars(): number {
    return this.#chars;
  }

  /** @throws PublicError `invalid` */
  look(steps: number): void {
    this.#steps -= steps;
    if (this.#steps < 0)
      throw new PublicError(
        'invalid',
        `store: the paths of what is embedded look at more than ${MAX_STEPS} values; name less`,
      );
  }

  /** @throws PublicError `too_large` */
  write(chars: number): void {
    this.#chars -= chars;
    if (this.#chars < 0)
      throw new PublicError(
        'too_large',
        `store: the texts to embed have more than ${MAX_CHARS} characters; name fields in "index", or put with "index": false`,
      );
  }
}

/** Minimum length of a value with indents; counted no further than `most`. */
function indentedLength(value: unknown, indent: number, most: number): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 1;
  let length = 2;
  const add = (inner: unknown): boolean => {
    length += indent + indentedLength(inner, indent + 2, most - length);
    return length > most;
  };
  if (Array.isArray(value)) value.some(add);
  else
    Object.entries(value).some(([name, inner]) => {
      length += name.length;
      return add(inner);
    });
  return length;
}

function textOf(value: unknown, budget: TextBudget): string[] {
  if (value === null || value === undefined) return [];
  budget.write(indentedLength(value, 2, budget.chars)); // first: the text may be a hundred times the value
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

function step(value: unknown, part: string, budget: TextBudget): unknown[] {
  if (part.startsWith('[')) return item(value, part.slice(1, -1));
  if (part.startsWith('{'))
    return part
      .slice(1, -1)
      .split(',')
      .flatMap((path) => valuesAt(value, path.trim(), budget));
  if (part !== '*') return member(value, part);
  return typeof value === 'object' && value !== null ? Object.values(value) : [];
}

function valuesAt(value: unknown, path: string, budget: TextBudget): unknown[] {
  const parts: readonly string[] = path.match(PARTS) ?? [];
  budget.look(1 + path.length);
  return parts.reduce<unknown[]>(
    (values, part) =>
      values.flatMap((one) => {
        const found = step(one, part, budget);
        budget.look(1 + found.length);
        return found;
      }),
    [value],
  );
}

/**
 * The texts at a path of a value, in the notation of LangGraph's stores: `title`, `metadata.title`,
 * `chapters[*].text`, `authors[-1]`, `{title,summary}`, `*`, and `$` for the whole value as JSON.
 * @throws PublicError `invalid`, `too_large` when the budget ends
 */
export function textsAtPath(value: unknown, path: string, budget = new TextBudget()): string[] {
  const found = path === WHOLE || path === '' ? [value] : valuesAt(value, path, budget);
  return found.flatMap((one) => textOf(one, budget));
}
