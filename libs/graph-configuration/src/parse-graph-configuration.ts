import { isJsonObject, type JsonObject } from '#lib/json';
import { parseThreadTtl, type ThreadTtlSettings } from './checkpointer-settings.js';
import { failed } from './failed.js';
import { parseHttpSettings, type HttpSettings } from './http-settings.js';
import { judgeSettings } from './judge-settings.js';
import { parseStoreSettings, type StoreSettings } from './store-settings.js';
import { parseWebhookSettings, type WebhookSettings } from './parse-webhook-settings.js';
import { parseAuthSettings, type AuthSettings } from './parse-auth-settings.js';
import { parseExport, parsePythonExport, type GraphLanguage, type ModuleExport } from './parse-export.js';
import { parsePythonSettings, type PythonSettings } from './parse-python-settings.js';
import { parseUiSettings, uiNotes, type UiSettings } from './parse-ui-settings.js';

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
  /** A sentence for each setting that is let through and drives nothing. */
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
  return given as Record<string, string>;
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
  const { graphs, env, store, http, auth } = settings;
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
    notes: [...notes, ...uiNotes(settings)],
  };
}
