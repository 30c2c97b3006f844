import { isJsonObject, type JsonObject } from '#lib/json';
import { type GraphLanguage, type ModuleExport, parseModule } from './parse-export.js';

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
function corsProblems(given: unknown): readonly string[] {
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
function parseCors(given: unknown): CorsSettings | undefined {
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

/** Groups of routes that an agent may switch off. */
const ROUTE_GROUPS = ['assistants', 'threads', 'runs', 'store', 'meta', 'a2a', 'mcp', 'agui', 'ui'] as const;
export type RouteGroup = (typeof ROUTE_GROUPS)[number];

/** Headers by their names in lower case, where `*` matches any characters. Exclusions take precedence. */
export interface HeaderChoice {
  /** Undefined: those of the server's choice. */
  readonly includes: readonly string[] | undefined;
  readonly excludes: readonly string[];
}

/** `http.app`: what the agent serves beside its graphs. */
export interface AppSettings extends ModuleExport {
  /** Every request that the app may answer needs a caller. */
  readonly authenticatesRoutes: boolean;
  /** Callers of the server's own routes are authenticated before the app's middleware, not after it. */
  readonly isAuthFirst: boolean;
}

/** `http` of `langgraph.json`. */
export interface HttpSettings {
  /** Undefined when the agent brings none. */
  readonly app: AppSettings | undefined;
  readonly disabled: ReadonlySet<RouteGroup>;
  readonly cors: CorsSettings | undefined;
  /** Headers of requests that graphs find in `configurable`. */
  readonly configurableHeaders: HeaderChoice;
  /** Headers of requests that are logged; none unless some are included. */
  readonly loggedHeaders: HeaderChoice;
  /** Prefix of every path, as `/team/agent`; empty without one. */
  readonly mountPrefix: string;
}

const SWITCHES = [
  ...ROUTE_GROUPS.map((group) => `disable_${group}`),
  'disable_webhooks',
  'enable_custom_route_auth',
];
const ORDERS = ['auth_first', 'middleware_first'];
const PATTERN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** Characters that no proxy writes in another way, and no `.` or `..`. */
const PREFIX = /^(\/(?!\.{1,2}(\/|$))[A-Za-z0-9._~-]+)+$/;

/** Lists of headers have two spellings. */
const LISTS = { includes: ['includes', 'include'], excludes: ['excludes', 'exclude'] } as const;

type Judge = (key: string, value: unknown) => readonly string[];

function isPatterns(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string' && PATTERN.test(one));
}

const judgeHeaders: Judge = (key, given) => {
  if (!isJsonObject(given)) return [`${key} must be an object such as {"includes": ["x-user-*"]}`];
  const known: readonly string[] = Object.values(LISTS).flat();
  return Object.entries(given).flatMap(([name, value]) => {
    if (!known.includes(name)) return [`${key}.${name} is not a known setting; remove it`];
    return value === null || isPatterns(value) ? [] : [`${key}.${name} must be a list of header names`];
  });
};

const judgeSwitch: Judge = (key, value) =>
  typeof value === 'boolean' ? [] : [`${key} must be true or false`];

const JUDGES: Readonly<Record<string, Judge>> = {
  ...Object.fromEntries(SWITCHES.map((key) => [key, judgeSwitch])),
  app: (key, value) =>
    typeof value === 'string' && value !== ''
      ? []
      : [`${key} must be "FILE:EXPORT", for example "./src/app.ts:app"`],
  middleware_order: (key, value) =>
    ORDERS.includes(String(value)) ? [] : [`${key} must be one of ${ORDERS.join(', ')}`],
  cors: (_key, value) => corsProblems(value),
  configurable_headers: judgeHeaders,
  logging_headers: judgeHeaders,
  mount_prefix: (key, value) =>
    value === '' || value === '/' || (typeof value === 'string' && PREFIX.test(value))
      ? []
      : [`${key} must be a path such as "/team/agent", of letters, digits and . _ ~ - alone`],
};

/** Unsupported parts of the setting `http`; undefined when all of it is supported. */
export function httpRefusal(http: unknown): string | undefined {
  if (!isJsonObject(http)) return 'it must be an object';
  const problems = Object.entries(http).flatMap(([key, value]) => {
    if (value === null) return [];
    const judge = Object.hasOwn(JUDGES, key) ? JUDGES[key] : undefined;
    if (judge) return judge(key, value);
    return value === false ? [] : [`${key} cannot be served; remove it`];
  });
  return problems.length === 0 ? undefined : problems.join(', ');
}

/** Parts of the setting that have no effect. */
export function httpNote(http: unknown): string | undefined {
  const { logging_headers: logged, app, ...others } = isJsonObject(http) ? http : {};
  const idle = ['middleware_order', 'enable_custom_route_auth'].filter((key) => others[key] ?? false);
  if ((app ?? undefined) === undefined && idle.length > 0) return `${idle.join(', ')} without an app`;
  if (!isJsonObject(logged) || parseHeaders(logged).includes) return undefined;
  return 'logging_headers includes no header, and none is logged otherwise';
}

function parseHeaders(given: unknown): HeaderChoice {
  const choice: JsonObject = isJsonObject(given) ? given : {};
  const listOf = (names: readonly string[]): string[] | undefined => {
    const lists = names.map((name) => choice[name]).filter((value) => Array.isArray(value));
    return lists.length === 0 ? undefined : lists.flat().map((name: string) => name.toLowerCase());
  };
  return { includes: listOf(LISTS.includes), excludes: listOf(LISTS.excludes) ?? [] };
}

function parseApp(http: JsonObject, language: GraphLanguage): AppSettings | undefined {
  const { app, enable_custom_route_auth: authenticates, middleware_order: order } = http;
  if (typeof app !== 'string') return undefined;
  return {
    ...parseModule('"http.app"', app, language),
    authenticatesRoutes: authenticates === true,
    isAuthFirst: order === 'auth_first',
  };
}

/**
 * Reads the setting, which has been judged before.
 * @throws TerminalError (`GraphLoadFailed`) for an app that is no module
 */
export function parseHttpSettings(given: unknown, language: GraphLanguage): HttpSettings {
  const http: JsonObject = isJsonObject(given) ? given : {};
  const { mount_prefix: prefix } = http;
  return {
    app: parseApp(http, language),
    disabled: new Set(ROUTE_GROUPS.filter((group) => http[`disable_${group}`] === true)),
    cors: parseCors(http['cors']),
    configurableHeaders: parseHeaders(http['configurable_headers']),
    loggedHeaders: parseHeaders(http['logging_headers']),
    mountPrefix: typeof prefix === 'string' && prefix !== '/' ? prefix : '',
  };
}
