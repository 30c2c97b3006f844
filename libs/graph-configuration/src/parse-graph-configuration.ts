import { isJsonObject, type JsonObject } from '#lib/json';
import { parseThreadTtl, type ThreadTtlSettings } from './checkpointer-settings.js';
import { failed } from './failed.js';
import { type HttpSettings, parseHttpSettings } from './http-settings.js';
import { judgeSettings, parseDockerfileLines } from './judge-settings.js';
import {
  type GraphLanguage,
  type ModuleExport,
  parseExport,
  parseModule,
  parsePythonExport,
} from './parse-export.js';
import { parseUiSettings, uiNotes, type UiSettings } from './parse-ui-settings.js';
import { parseWebhookSettings, type WebhookSettings } from './parse-webhook-settings.js';
import { parseStoreSettings, type StoreSettings } from './store-settings.js';

/** File beside a graph configuration with JSON Schemas of its graphs by their types, made when the agent was taken. */
export const GRAPH_TYPES_FILE = '.agentplane/graph-types.json';

/** Settings of `langgraph.json` for the environment of Python graphs. */
export interface PythonSettings {
  /** `python_version`, such as `3.12`; undefined for whichever the machine has. */
  readonly version: string | undefined;
  /** Folders of the agent, relative, whose lists of packages are installed and whose code is imported. */
  readonly folders: readonly string[];
  /** Packages that `dependencies` names itself, as lines of a requirements file. */
  readonly packages: readonly string[];
  /** `pip_config_file`, relative to the folder. */
  readonly pipConfigFile: string | undefined;
  readonly installer: 'auto' | 'pip' | 'uv';
  /** `keep_pkg_tools`: whether pip stays in the environment. */
  readonly keepsPip: boolean;
}

const INSTALLERS = ['auto', 'pip', 'uv'] as const;

/** A path of the agent's folder; everything else is what a package installer takes. */
const LOCAL = /^\.{0,2}(\/|$)/;
/** A name with what may follow it: neither an option nor an address of another machine. */
const REQUIREMENT = /^[A-Za-z0-9][A-Za-z0-9._-]*\s*(\[[A-Za-z0-9._, -]*\])?\s*([~=!<>(].*|;.*)?$/;

function leavesFolder(path: string): boolean {
  let depth = 0;
  for (const step of path.split('/')) {
    if (step === '..') depth--;
    else if (step !== '' && step !== '.') depth++;
    if (depth < 0) return true;
  }
  return path.startsWith('/');
}

function parseDependencies(given: unknown): readonly string[] {
  if (given === undefined || given === null) return ['.'];
  if (Array.isArray(given) && given.every((one) => typeof one === 'string')) return given;
  throw failed('"dependencies" must be a list such as [".", "langchain_openai"]');
}

function parseVersion(given: unknown): string | undefined {
  if (given === undefined || given === null) return undefined;
  if (typeof given === 'string' && /^3\.\d{1,2}(\.\d{1,3})?$/.test(given)) return given;
  throw failed(`"python_version" must be a version such as "3.12", not ${JSON.stringify(given)}`);
}

/** @throws TerminalError (`GraphLoadFailed`) */
function parsePythonSettings(settings: JsonObject): PythonSettings {
  const dependencies = parseDependencies(settings['dependencies']);
  const { pip_config_file: file, pip_installer: installer = 'auto', keep_pkg_tools: keeps } = settings;
  const folders = dependencies.filter((one) => LOCAL.test(one));
  const packages = dependencies.filter((one) => !LOCAL.test(one));
  const out = folders.find(leavesFolder);
  if (out !== undefined)
    throw failed(`"dependencies": ${out} is outside the agent's folder; move it into the folder`);
  const wrong = packages.find((one) => !REQUIREMENT.test(one));
  if (wrong !== undefined)
    throw failed(
      `"dependencies": ${JSON.stringify(wrong)} is neither a folder such as "./lib" nor a package such as "langchain_openai>=1"`,
    );
  if (file !== undefined && file !== null && (typeof file !== 'string' || leavesFolder(file)))
    throw failed('"pip_config_file" must be a file of the agent\'s folder');
  const chosen = INSTALLERS.find((one) => one === installer);
  if (!chosen) throw failed(`"pip_installer" must be one of ${INSTALLERS.join(', ')}`);
  return {
    version: parseVersion(settings['python_version']),
    folders,
    packages: [...packages, ...parseDockerfileLines(settings['dockerfile_lines']).packages],
    pipConfigFile: typeof file === 'string' && file !== '' ? file : undefined,
    installer: chosen,
    keepsPip: keeps === true || (Array.isArray(keeps) && keeps.includes('pip')),
  };
}

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

const KEYS = ['path', 'disable_studio_auth', 'openapi', 'cache', 'allow_langsmith_api_keys'];
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
function parseAuthSettings(given: unknown, language: GraphLanguage): AuthSettings | undefined {
  if (given === undefined || given === null) return undefined;
  if (!isJsonObject(given)) throw failed('"auth" must be an object such as {"path": "./src/auth.ts:auth"}');
  requireKeys('"auth"', given, KEYS);
  const { path, disable_studio_auth: isStudioOff = false, cache, openapi } = given;
  if ((given['allow_langsmith_api_keys'] ?? false) !== false)
    throw failed(
      '"auth.allow_langsmith_api_keys": keys of the platform reach no agent with a handler of its own, but those of a studio; remove it, and let the handler accept the callers',
    );
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

/**
 * @returns undefined when the agent ranks no runs
 * @throws TerminalError (`GraphLoadFailed`)
 */
function parsePriority(given: unknown, language: GraphLanguage): ModuleExport | undefined {
  if (given === undefined || given === null) return undefined;
  const { path, ...others } = isJsonObject(given) ? given : {};
  requireKeys('"priority"', others, ['path']);
  const example = language === 'python' ? './priority.py:priority' : './priority.ts:assign';
  if (typeof path !== 'string' || path === '')
    throw failed(`"priority" must be an object such as {"path": "${example}"}`);
  return parseModule('"priority.path"', path, language);
}

/** One graph that `langgraph.json` names. */
export interface GraphEntry extends ModuleExport {
  readonly graphId: string;
  readonly description?: string;
}

/** Content of `langgraph.json`, as far as it has an effect here. */
export interface GraphConfiguration {
  readonly language: GraphLanguage;
  /** Undefined where the graphs are not Python. */
  readonly python: PythonSettings | undefined;
  readonly graphs: readonly GraphEntry[];
  /** A file of `NAME=value` lines, relative to the folder, or the variables themselves. */
  readonly env: string | Readonly<Record<string, string>> | undefined;
  readonly store: StoreSettings;
  readonly webhooks: WebhookSettings;
  readonly threadTtl: ThreadTtlSettings;
  readonly http: HttpSettings;
  /** Components that pages show. */
  readonly ui: UiSettings;
  /** Undefined when the agent brings no handlers of its own. */
  readonly auth: AuthSettings | undefined;
  /** The function that assigns priorities to runs; undefined when the agent ranks none. */
  readonly priority: ModuleExport | undefined;
  /** A sentence for each setting that is let through and has no effect. */
  readonly notes: readonly string[];
}

function pathOf(given: unknown): unknown {
  return isJsonObject(given) ? given['path'] : given;
}

function isPython(given: unknown): boolean {
  const path = pathOf(given);
  return typeof path === 'string' && parsePythonExport(path) !== undefined;
}

function parseGraph(graphId: string, given: unknown, language: GraphLanguage): GraphEntry {
  const { path, description } = isJsonObject(given) ? given : { path: given };
  if (typeof path !== 'string' || path === '')
    throw failed(`graph "${graphId}" must be "FILE:EXPORT", for example "./src/agent.ts:graph"`);
  return {
    graphId,
    ...((language === 'python' ? parsePythonExport(path) : undefined) ??
      parseExport(`graph "${graphId}"`, path)),
    ...(typeof description === 'string' ? { description } : {}),
  };
}

function parseEnv(given: unknown): GraphConfiguration['env'] {
  if (given === undefined || typeof given === 'string') return given === '' ? undefined : given;
  const isMap = isJsonObject(given) && Object.values(given).every((value) => typeof value === 'string');
  if (!isMap) throw failed('"env" must be the name of a file or an object of texts');
  const refusal = encryptionRefusal(given);
  if (refusal !== undefined) throw failed(`"env": ${refusal}`);
  return given as Record<string, string>;
}

/**
 * Refuses keys with which another server encrypts what an agent stores: an agent that counts on it must not run without.
 * @returns undefined for variables without one
 */
export function encryptionRefusal(variables: Readonly<Record<string, unknown>>): string | undefined {
  const name = ['LANGGRAPH_AES_KEY', 'LANGGRAPH_AES_LEGACY_KEY'].find((one) => (variables[one] ?? '') !== '');
  if (name === undefined) return undefined;
  return `${name}: states are stored as they are, and no key of an agent encrypts them; remove it, and encrypt the disk of the database`;
}

/**
 * Reads the text of a `langgraph.json`. Settings that this version does not support are refused by name,
 * never ignored: an agent that counts on its own authentication must not run without it.
 * @param languages that the caller supports; one only by default
 * @throws TerminalError (`GraphLoadFailed`) with the finding, its place and the remedy
 */
export function parseGraphConfiguration(
  text: string,
  languages: readonly GraphLanguage[] = ['javascript'],
): GraphConfiguration {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch (error) {
    throw failed('it cannot be read as JSON', error);
  }
  const settings: JsonObject = isJsonObject(document) ? document : {};
  const { graphs, env, store, http, auth, priority } = settings;
  if (!isJsonObject(graphs) || Object.keys(graphs).length === 0)
    throw failed('it names no graph: it needs {"graphs": {"NAME": "FILE:EXPORT"}}');
  // first: what else a Python project says makes no sense here
  const isAllPython = languages.includes('python') && Object.values(graphs).every(isPython);
  const language: GraphLanguage = isAllPython ? 'python' : 'javascript';
  const entries = Object.entries(graphs).map(([graphId, given]) => parseGraph(graphId, given, language));
  const { refusals, notes } = judgeSettings(settings, language);
  if (refusals.length > 0) throw failed(refusals.join('; '));
  return {
    language,
    python: language === 'python' ? parsePythonSettings(settings) : undefined,
    graphs: entries,
    env: parseEnv(env),
    store: parseStoreSettings(store, language),
    webhooks: parseWebhookSettings(settings).webhooks,
    threadTtl: parseThreadTtl(settings['checkpointer']),
    http: parseHttpSettings(http, language),
    ui: parseUiSettings(settings),
    auth: parseAuthSettings(auth, language),
    priority: parsePriority(priority, language),
    notes: [...notes, ...uiNotes(settings)],
  };
}
