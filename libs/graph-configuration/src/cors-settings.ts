import { isJsonObject, type JsonObject } from '#lib/json';

/** `http.cors` of `langgraph.json`: which web pages may read answers. */
export interface CorsSettings {
  /** `*` in it means any. */
  readonly origins: readonly string[];
  /** An origin that matches it whole may read answers too; a regular expression of linear time. */
  readonly originPattern: string | undefined;
  /** Empty: those that the server has. */
  readonly methods: readonly string[];
  /** Empty: those that the page asks for. */
  readonly headers: readonly string[];
  /** Shown to pages beside those of the server's own. */
  readonly exposedHeaders: readonly string[];
  readonly allowsCredentials: boolean;
  /** Time for which a browser may remember the answer to a preflight. */
  readonly maxAgeSeconds: number | undefined;
}

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** Never `null`: any sandboxed page has that origin. */
const ORIGIN = /^(\*|[a-z][a-z0-9+.-]*:\/\/[^\s/@]+)$/i;
const LONGEST_AGE_SECONDS = 86_400;

type Rule = (value: unknown) => string | undefined;

function isListOf(value: unknown, shape: RegExp): value is string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string' && shape.test(one));
}

const tokens: Rule = (value) => (isListOf(value, TOKEN) ? undefined : 'must be a list of names');

const RULES: Readonly<Record<string, Rule>> = {
  allow_origins: (value) =>
    isListOf(value, ORIGIN)
      ? undefined
      : 'must be a list of origins such as "https://app.example.com", or ["*"]',
  allow_origin_regex: (value) =>
    typeof value === 'string' && value !== '' ? undefined : 'must be a regular expression as text',
  allow_methods: tokens,
  allow_headers: tokens,
  expose_headers: tokens,
  allow_credentials: (value) => (typeof value === 'boolean' ? undefined : 'must be true or false'),
  max_age: (value) =>
    Number.isInteger(value) && Number(value) >= 0 && Number(value) <= LONGEST_AGE_SECONDS
      ? undefined
      : `must be a whole number of seconds from 0 to ${LONGEST_AGE_SECONDS}`,
};

/** Unsupported parts of `http.cors`, a text for each problem. */
export function corsProblems(given: unknown): readonly string[] {
  if (!isJsonObject(given)) return ['cors must be an object'];
  const problems = Object.entries(given).flatMap(([key, value]) => {
    const rule = Object.hasOwn(RULES, key) ? RULES[key] : () => 'is not a known setting; remove it';
    const problem = value === null ? undefined : rule?.(value);
    return problem === undefined ? [] : [`cors.${key} ${problem}`];
  });
  const origins: unknown = given['allow_origins'];
  const isAny = Array.isArray(origins) && origins.includes('*');
  // any page would act with the cookies of its visitor
  if (isAny && given['allow_credentials'] === true)
    problems.push('cors.allow_credentials cannot be used with the origin "*"; name the origins');
  return problems;
}

function listOf(cors: JsonObject, name: string): readonly string[] {
  const value = cors[name];
  return Array.isArray(value) ? (value as string[]) : [];
}

/** Reads the setting, which has been judged before. */
export function parseCors(given: unknown): CorsSettings | undefined {
  if (!isJsonObject(given)) return undefined;
  const { allow_origin_regex: originPattern, max_age: maxAge } = given;
  return {
    origins: listOf(given, 'allow_origins').map((origin) => origin.toLowerCase()),
    originPattern: typeof originPattern === 'string' ? originPattern : undefined,
    methods: listOf(given, 'allow_methods'),
    headers: listOf(given, 'allow_headers'),
    exposedHeaders: listOf(given, 'expose_headers'),
    allowsCredentials: given['allow_credentials'] === true,
    maxAgeSeconds: typeof maxAge === 'number' ? maxAge : undefined,
  };
}
