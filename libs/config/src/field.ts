import { withoutTrailingSlashes } from '#lib/url';

/** One setting of a program: where it comes from, what it means, how its text becomes a value. */
export interface Field<T> {
  /** Name of the environment variable. */
  readonly env: string;
  /** One sentence for `--help` and the docs; names the unit where there is one. */
  readonly about: string;
  /** Form of its text, for the docs: `text`, `whole number from 0 to 65535`. */
  readonly takes: string;
  /** Never printed. */
  readonly secret: boolean;
  /** Used when the variable is missing or empty. Absent: the setting is required. */
  readonly fallback?: { readonly value: T };
  /** Text to value; throws an Error whose message completes "NAME …". */
  parse(text: string): T;
}

interface Options<T> {
  readonly fallback?: T;
  readonly secret?: boolean;
}

function field<T>(
  env: string,
  about: string,
  options: Options<T> & { readonly takes: string },
  parse: (text: string) => T,
): Field<T> {
  return {
    env,
    about,
    takes: options.takes,
    secret: options.secret ?? false,
    ...('fallback' in options ? { fallback: { value: options.fallback as T } } : {}),
    parse,
  };
}

/** Any text. */
export function text(env: string, about: string, options: Options<string> = {}): Field<string> {
  return field(env, about, { ...options, takes: 'text' }, (value) => value);
}

/** Text that may be missing. */
export function optionalText(
  env: string,
  about: string,
  options: { secret?: boolean } = {},
): Field<string | undefined> {
  return field<string | undefined>(
    env,
    about,
    { ...options, takes: 'text', fallback: undefined },
    (value) => value,
  );
}

/** A text that a check accepts; may be missing. @param check throws the rule for the text */
export function optionalChecked(
  env: string,
  about: string,
  check: (value: string) => unknown,
  options: { secret?: boolean } = {},
): Field<string | undefined> {
  return field<string | undefined>(
    env,
    about,
    { ...options, takes: 'text', fallback: undefined },
    (value) => {
      check(value);
      return value;
    },
  );
}

/**
 * A text in a form of its own; may be missing. @param parse throws the rule for the text, completing "NAME …"
 */
export function optionalParsed<T>(
  env: string,
  about: string,
  parse: (value: string) => T,
): Field<T | undefined> {
  return field<T | undefined>(env, about, { takes: 'text', fallback: undefined }, parse);
}

/** A whole number between `min` and `max`, both included. */
export function integer(
  env: string,
  about: string,
  options: Options<number> & { min?: number; max?: number } = {},
): Field<number> {
  const { min = 0, max = Number.MAX_SAFE_INTEGER } = options;
  const range = `whole number from ${min}${options.max === undefined ? '' : ` to ${max}`}`;
  return field(env, about, { ...options, takes: range }, (value) => {
    const number = Number(value);
    if (!Number.isInteger(number) || number < min || number > max)
      throw new Error(`must be a whole number from ${min} to ${max}, but is ${JSON.stringify(value)}`);
    return number;
  });
}

/** `true` or `false`. */
export function flag(env: string, about: string, options: Options<boolean> = {}): Field<boolean> {
  return field(env, about, { ...options, takes: '`true` or `false`' }, (value) => {
    if (value === 'true' || value === '1') return true;
    if (value === 'false' || value === '0') return false;
    throw new Error(`must be true or false, but is ${JSON.stringify(value)}`);
  });
}

/** An absolute http or https URL, without a slash at its end. */
export function url(env: string, about: string, options: Options<string> = {}): Field<string> {
  return field(env, about, { ...options, takes: 'http or https URL' }, (value) => {
    if (!URL.canParse(value) || !/^https?:$/.test(new URL(value).protocol))
      throw new Error('must be an absolute http or https URL');
    return withoutTrailingSlashes(value);
  });
}

/** Words separated by commas; blanks around them do not count. */
export function list(
  env: string,
  about: string,
  options: Options<readonly string[]> = {},
): Field<readonly string[]> {
  return field(env, about, { ...options, takes: 'words, separated by commas' }, (value) =>
    value
      .split(',')
      .map((word) => word.trim())
      .filter((word) => word !== ''),
  );
}

/** One of a closed set of words. */
export function choice<const W extends string>(
  env: string,
  about: string,
  words: readonly W[],
  options: Options<W> = {},
): Field<W> {
  const takes = words.map((word) => `\`${word}\``).join(', ');
  return field(env, about, { ...options, takes }, (value) => {
    const found = words.find((word) => word === value);
    if (found === undefined)
      throw new Error(`must be one of ${words.join(', ')}, but is ${JSON.stringify(value)}`);
    return found;
  });
}

/** A JSON document. */
export function json<T>(env: string, about: string, options: Options<T> = {}): Field<T> {
  return field(env, about, { ...options, takes: 'JSON' }, (value) => {
    try {
      return JSON.parse(value) as T;
    } catch {
      throw new Error('must be a JSON document');
    }
  });
}
