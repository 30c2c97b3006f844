import { isJsonObject, type JsonObject } from '#lib/json';
import { failed } from './failed.js';
import { parseModule, type GraphLanguage, type ModuleExport } from './parse-export.js';

/** `auth` of `langgraph.json`. */
export interface AuthSettings extends ModuleExport {
  /** True when a studio may call beside the agent's own users. */
  readonly admitsStudio: boolean;
  /** Time for which the answer of the authentication handler holds for requests with the same headers. */
  readonly cache:
    | {
        /** Names in lower case. */
        readonly headers: readonly string[];
        readonly ttlSeconds: number;
        readonly maxSize: number;
      }
    | undefined;
  /** Security schemes of clients, for the description of the routes. */
  readonly openapi: OpenapiSecurity | undefined;
}

type Requirements = readonly JsonObject[];

/** Parts of an OpenAPI document, in its own words. */
export interface OpenapiSecurity {
  readonly securitySchemes: JsonObject;
  readonly security: Requirements;
  /** Requirements by path and method, in place of `security`. */
  readonly paths: Readonly<Record<string, Readonly<Record<string, Requirements>>>>;
}

const KEYS = ['path', 'disable_studio_auth', 'openapi', 'cache'];
const OPENAPI_KEYS = ['securitySchemes', 'security', 'paths'];
const CACHE_KEYS = ['cache_keys', 'ttl_seconds', 'max_size'];
const DEFAULT_TTL_SECONDS = 60;
const LONGEST_TTL_SECONDS = 86_400;
const DEFAULT_SIZE = 1_000;
const LARGEST_SIZE = 100_000;

function requireKeys(what: string, given: JsonObject, known: readonly string[]): void {
  const others = Object.keys(given).filter((key) => !known.includes(key));
  // a misspelt key of what protects an agent must not be let through
  if (others.length > 0) throw failed(`${what}: ${others.join(', ')} is unknown; use ${known.join(', ')}`);
}

function numberOf(what: string, given: unknown, fallback: number, [least, most]: [number, number]): number {
  const value = given ?? fallback;
  if (typeof value === 'number' && value >= least && value <= most) return value;
  throw failed(`${what} must be a number from ${least} to ${most}`);
}

function parseCache(given: unknown): AuthSettings['cache'] {
  if (given === undefined || given === null) return undefined;
  if (!isJsonObject(given)) throw failed('"auth.cache" must be an object');
  requireKeys('"auth.cache"', given, CACHE_KEYS);
  const { cache_keys: keys, ttl_seconds: ttl, max_size: size } = given;
  const isList = Array.isArray(keys) && keys.length > 0 && keys.every((key) => typeof key === 'string');
  if (!isList)
    throw failed(
      '"auth.cache.cache_keys" must be a list of the headers that say who calls, such as ["authorization"]',
    );
  return {
    headers: keys.map((key: string) => key.toLowerCase()),
    ttlSeconds: numberOf('"auth.cache.ttl_seconds"', ttl, DEFAULT_TTL_SECONDS, [1, LONGEST_TTL_SECONDS]),
    maxSize: Math.floor(numberOf('"auth.cache.max_size"', size, DEFAULT_SIZE, [1, LARGEST_SIZE])),
  };
}

function isRequirements(given: unknown): given is Requirements {
  return Array.isArray(given) && given.every(isJsonObject);
}

function parseOpenapi(given: unknown): AuthSettings['openapi'] {
  if (given === undefined || given === null) return undefined;
  if (!isJsonObject(given)) throw failed('"auth.openapi" must be an object');
  requireKeys('"auth.openapi"', given, OPENAPI_KEYS);
  const { securitySchemes = {}, security = [], paths = {} } = given;
  if (!isJsonObject(securitySchemes) || !Object.values(securitySchemes).every(isJsonObject))
    throw failed('"auth.openapi.securitySchemes" must be an object of schemes by name');
  if (!isRequirements(security))
    throw failed('"auth.openapi.security" must be a list such as [{"NAME_OF_A_SCHEME": []}]');
  const isByMethod = (methods: unknown): methods is Record<string, Requirements> =>
    isJsonObject(methods) && Object.values(methods).every(isRequirements);
  if (!isJsonObject(paths) || !Object.values(paths).every(isByMethod))
    throw failed('"auth.openapi.paths" must be lists such as "security" by path and method');
  const asked = [security, ...Object.values(paths as OpenapiSecurity['paths']).flatMap(Object.values)].flat();
  const unknown = asked.flatMap(Object.keys).find((name) => !Object.hasOwn(securitySchemes, name));
  if (unknown !== undefined)
    throw failed(`"auth.openapi.security" asks for ${unknown}, which "securitySchemes" does not have`);
  return { securitySchemes, security, paths: paths as OpenapiSecurity['paths'] };
}

/**
 * @returns undefined when the agent brings no handlers
 * @throws TerminalError (`GraphLoadFailed`)
 */
export function parseAuthSettings(given: unknown, language: GraphLanguage): AuthSettings | undefined {
  if (given === undefined || given === null) return undefined;
  if (!isJsonObject(given)) throw failed('"auth" must be an object such as {"path": "./src/auth.ts:auth"}');
  requireKeys('"auth"', given, KEYS);
  const { path, disable_studio_auth: isStudioOff = false, cache, openapi } = given;
  if (typeof isStudioOff !== 'boolean') throw failed('"auth.disable_studio_auth" must be true or false');
  const example = language === 'python' ? './src/auth.py:auth' : './src/auth.ts:auth';
  if (typeof path !== 'string' || path === '')
    throw failed(`"auth.path" must be "FILE:EXPORT", for example "${example}"; without one remove "auth"`);
  return {
    ...parseModule('"auth.path"', path, language),
    admitsStudio: !isStudioOff,
    cache: parseCache(cache),
    openapi: parseOpenapi(openapi),
  };
}
