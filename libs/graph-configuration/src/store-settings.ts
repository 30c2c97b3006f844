import { isJsonObject, type JsonObject } from '#lib/json';
import { parsePythonExport, SOURCE_FILE, type GraphLanguage } from './parse-export.js';

/** Lifetime of items in the store. */
export interface StoreTtl {
  /** Minutes; undefined: it never expires. */
  readonly defaultMinutes: number | undefined;
  /** True when reading an item begins its time again. */
  readonly refreshesOnRead: boolean;
  readonly sweepIntervalMinutes: number;
}

/** Index for semantic search of items in the store. */
export interface StoreIndex {
  /** Numbers in a vector. */
  readonly dims: number;
  /** `FILE:EXPORT` of the agent, or `PROVIDER:MODEL`. */
  readonly embed: string;
  /** Export of a file of the agent, where it is one. */
  readonly source: { readonly file: string; readonly exportName: string } | undefined;
  /** Paths of what is embedded; `$` is the whole value. */
  readonly fields: readonly string[];
}

export interface StoreSettings {
  readonly index: StoreIndex | undefined;
  readonly ttl: StoreTtl;
}

const DEFAULT_TTL: StoreTtl = { defaultMinutes: undefined, refreshesOnRead: true, sweepIntervalMinutes: 5 };

/** A name of a module of Python has a dot; `PROVIDER:MODEL` has none before its colon. */
const PYTHON_SOURCE = /\.|\//;

/** Maximum dimensions of pgvector. */
const MAX_DIMS = 16_000;

/** A week: sweeps remove items that are not read. */
const MAX_SWEEP_MINUTES = 10_080;

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
const isMinutes = (value: unknown): boolean =>
  typeof value === 'number' && Number.isFinite(value) && value > 0;

/** Checks of the setting's parts, by name; undefined without a problem. */
type Rules = Readonly<Record<string, (value: unknown) => string | undefined>>;

const INDEX: Rules = {
  dims: (value) =>
    Number.isInteger(value) && Number(value) >= 1 && Number(value) <= MAX_DIMS
      ? undefined
      : `must be a whole number from 1 to ${MAX_DIMS}`,
  embed: (value) => {
    if (!isText(value) || !value.includes(':'))
      return 'must be "FILE:EXPORT" of a function or an Embeddings object, or "PROVIDER:MODEL"';
    return undefined;
  },
  fields: (value) =>
    Array.isArray(value) && value.length > 0 && value.length <= 100 && value.every(isText)
      ? undefined
      : 'must be a list of paths, for example ["title", "chapters[*].text"]',
};

const TTL: Rules = {
  default_ttl: (value) => (isMinutes(value) ? undefined : 'must be a number of minutes above 0'),
  refresh_on_read: (value) => (typeof value === 'boolean' ? undefined : 'must be true or false'),
  sweep_interval_minutes: (value) =>
    isMinutes(value) && Number(value) <= MAX_SWEEP_MINUTES
      ? undefined
      : `must be a number of minutes above 0, at most ${MAX_SWEEP_MINUTES}`,
};

function problemsOf(name: string, given: unknown, rules: Rules): string[] {
  if (given === undefined || given === null) return [];
  if (!isJsonObject(given)) return [`${name} must be an object`];
  return Object.entries(given).flatMap(([key, value]) => {
    if (value === null) return [];
    const rule = Object.hasOwn(rules, key) ? rules[key] : () => 'is not a known setting; remove it';
    const found = rule?.(value);
    return found === undefined ? [] : [`${name}.${key} ${found}`];
  });
}

/** Unsupported parts of the setting `store`; undefined when all of it is supported. */
export function storeRefusal(value: unknown, language: GraphLanguage): string | undefined {
  if (!isJsonObject(value)) return 'it must be an object';
  const { index, ttl, path, ...unknown } = value;
  const found = [...problemsOf('index', index, INDEX), ...problemsOf('ttl', ttl, TTL)];
  if (path !== undefined && path !== null)
    found.push('path cannot be used: items are kept in the database of the deployment; remove it');
  const isOther = language === 'python' ? /\.([cm]?[jt]s|[jt]sx):/ : /\.py:/;
  if (isJsonObject(index) && typeof index['embed'] === 'string' && isOther.test(index['embed']))
    found.push(
      language === 'python'
        ? 'index.embed names a JavaScript file; name a Python one'
        : 'index.embed names a Python file; name a TypeScript or JavaScript one',
    );
  found.push(...Object.keys(unknown).map((key) => `${key} is not a known setting; remove it`));
  if (isJsonObject(index))
    for (const key of ['dims', 'embed'])
      if (index[key] === undefined || index[key] === null) found.push(`index.${key} is missing`);
  return found.length === 0 ? undefined : found.join(', ');
}

/** The setting `store` once nothing is wrong with it. */
export function parseStoreSettings(value: unknown, language: GraphLanguage): StoreSettings {
  const { index, ttl }: JsonObject = isJsonObject(value) ? value : {};
  return {
    index: isJsonObject(index) ? parseIndex(index, language) : undefined,
    ttl: isJsonObject(ttl) ? parseTtl(ttl) : DEFAULT_TTL,
  };
}

function parseIndex({ dims, embed, fields }: JsonObject, language: GraphLanguage): StoreIndex {
  return {
    dims: Number(dims),
    embed: String(embed),
    source: sourceOf(String(embed), language),
    fields: Array.isArray(fields) ? fields.filter(isText) : ['$'],
  };
}

function sourceOf(embed: string, language: GraphLanguage): StoreIndex['source'] {
  if (language === 'python')
    return PYTHON_SOURCE.test(embed.split(':', 1)[0] ?? '') ? parsePythonExport(embed) : undefined;
  const colon = embed.lastIndexOf(':');
  const file = embed.slice(0, colon);
  return SOURCE_FILE.test(file) ? { file, exportName: embed.slice(colon + 1) || 'default' } : undefined;
}

function parseTtl({ default_ttl, refresh_on_read, sweep_interval_minutes }: JsonObject): StoreTtl {
  return {
    defaultMinutes: typeof default_ttl === 'number' ? default_ttl : undefined,
    refreshesOnRead: typeof refresh_on_read === 'boolean' ? refresh_on_read : DEFAULT_TTL.refreshesOnRead,
    sweepIntervalMinutes:
      typeof sweep_interval_minutes === 'number' ? sweep_interval_minutes : DEFAULT_TTL.sweepIntervalMinutes,
  };
}
