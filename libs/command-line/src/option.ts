export const LIVE_NAMES = [
  'context',
  'deployment',
  'destination',
  'export',
  'image',
  'key',
  'namespace',
  'object',
  'price',
  'project',
  'workspace',
] as const;
/** Names that the platform is asked for when Tab is pressed; `object` are those of the kind that the line names. */
export type LiveName = (typeof LIVE_NAMES)[number];

/** Completions that a shell offers for a value. */
export type Completes = 'file' | 'folder' | 'kind' | LiveName | readonly string[];

/** One option of a command: its words, its sentence, and how its text becomes a value. */
export interface OptionSpec<T> {
  /** `-o, --output <format>`, or `--wait` for a switch; `--no-wait` makes a switch that is on unless it is given. */
  readonly flags: string;
  /** Completes "NAME: …" in the help; no full stop. */
  readonly about: string;
  /** The value when the option is not given. */
  readonly fallback: T;
  /** The fallback as the help shows it. */
  readonly shownFallback?: string;
  readonly completes?: Completes;
  /** Text to value; absent for a switch. Throws an Error whose message completes "argument X is invalid: …". */
  readonly parse?: (text: string) => T;
  /** The value is a list: given again, the option adds to it. */
  readonly isRepeated?: boolean;
}

/** The values that a table of options parses to. */
export type FlagsOf<O extends Readonly<Record<string, OptionSpec<unknown>>>> = {
  readonly [K in keyof O]: O[K] extends OptionSpec<infer T> ? T : never;
};

function nonEmpty(text: string): string {
  if (text.trim() === '') throw new Error('must not be empty');
  return text;
}

/**
 * Reads a whole number that a person gives, digits alone; both ends are included.
 * @param subject of the sentence; by default the command line names the option
 * @returns a parser that throws "must be a whole number from MIN to MAX"
 */
export function wholeNumber(min: number, max: number, subject?: string): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (!/^\d{1,9}$/.test(text) || number < min || number > max)
      throw new Error(
        `${subject === undefined ? '' : `${subject} `}must be a whole number from ${min} to ${max}`,
      );
    return number;
  };
}

/** An option that is given or not. */
export function toggle(flags: string, about: string): OptionSpec<boolean> {
  return { flags, about, fallback: / --no-|^--no-/.test(flags) };
}

/** A text that is not empty; undefined when it is not given. */
export function optional(
  flags: string,
  about: string,
  completes?: Completes,
): OptionSpec<string | undefined> {
  return {
    flags,
    about,
    fallback: undefined,
    parse: nonEmpty,
    ...(completes === undefined ? {} : { completes }),
  };
}

/** A text that is not empty, with a value when it is not given. */
export function defaulted(
  flags: string,
  about: string,
  fallback: string,
  completes?: Completes,
): OptionSpec<string> {
  return {
    flags,
    about,
    fallback,
    ...(fallback === '' ? {} : { shownFallback: fallback }),
    parse: nonEmpty,
    ...(completes === undefined ? {} : { completes }),
  };
}

/** Texts with a parser of their own, one each time that the option is given. */
export function repeated(
  flags: string,
  about: string,
  parse: (text: string) => string,
): OptionSpec<readonly string[]> {
  return { flags, about, fallback: [], parse: (text) => [parse(text)], isRepeated: true };
}

/** A value with a parser of its own; undefined when it is not given. */
export function parsed<T>(
  flags: string,
  about: string,
  parse: (text: string) => T,
  completes?: Completes,
): OptionSpec<T | undefined> {
  return {
    flags,
    about,
    fallback: undefined,
    parse,
    ...(completes === undefined ? {} : { completes }),
  };
}
