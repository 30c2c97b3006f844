import { isJsonObject, type JsonObject } from '#lib/json';

/** Settings of `langgraph.json` for webhooks of runs. */
export interface WebhookSettings {
  /** `http.disable_webhooks`. */
  readonly isDisabled: boolean;
  /** Headers of every call; `${{ env.NAME }}` is replaced by a variable. */
  readonly headers: Readonly<Record<string, string>>;
  /** Variables that headers may name begin with this. */
  readonly envPrefix: string;
  readonly requiresHttps: boolean;
  /** Hosts that may be called, `*.example.com` for all below one; undefined: any. */
  readonly allowedDomains: readonly string[] | undefined;
  readonly allowedPorts: readonly number[] | undefined;
  /** Addresses that begin with `/`, which name the agent's own HTTP app, are refused. */
  readonly disablesLoopback: boolean;
  readonly maxUrlLength: number;
  /** Private networks are never called, whatever the deployment allows. */
  readonly disablesPrivate: boolean;
  /** Members of the body of a call; undefined: all. */
  readonly allowedFields: readonly string[] | undefined;
}

const DEFAULT_PREFIX = 'LG_WEBHOOK_';
const MAX_URL_LENGTH = 2_048;

/** Names are tokens of HTTP; what makes and ends a message, and what the server signs with, is not theirs to set. */
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const OWN_HEADERS =
  /^(host|connection|content-length|content-type|transfer-encoding|upgrade|webhook-(id|timestamp|signature))$/i;

class Reader {
  readonly problems: string[] = [];

  object(given: unknown, name: string, known: readonly string[]): JsonObject {
    if (given === undefined || given === null) return {};
    if (!isJsonObject(given)) {
      this.problems.push(`${name} must be an object`);
      return {};
    }
    const unknown = Object.keys(given).filter((key) => known.length > 0 && !known.includes(key));
    if (unknown.length > 0) this.problems.push(`${name}: ${unknown.join(', ')} is not a known setting`);
    return given;
  }

  flag(of: JsonObject, name: string): boolean {
    const value = of[name] ?? false;
    if (typeof value !== 'boolean') this.problems.push(`url.${name} must be true or false`);
    return value === true;
  }

  list<T>(of: JsonObject, name: string, isMember: (value: unknown) => value is T): T[] | undefined {
    const value = of[name];
    if (value === undefined || value === null) return undefined;
    if (Array.isArray(value) && value.every(isMember)) return value;
    this.problems.push(`url.${name} is not a list of ${name === 'allowed_ports' ? 'ports' : 'host names'}`);
    return undefined;
  }
}

function isDomain(value: unknown): value is string {
  return typeof value === 'string' && /^(\*\.)?[A-Za-z0-9_.:[\]-]+$/.test(value);
}

function isPort(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= 1 && Number(value) <= 65_535;
}

function headersOf(reader: Reader, given: unknown, prefix: string): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(reader.object(given, 'headers', []))) {
    if (!HEADER_NAME.test(name) || OWN_HEADERS.test(name))
      reader.problems.push(`headers: ${JSON.stringify(name)} cannot be set`);
    else if (typeof value !== 'string' || /[\r\n\0]/.test(value))
      reader.problems.push(`headers: ${name} must be one line of text`);
    else headers[name] = value;
    for (const [, variable = ''] of String(value).matchAll(VARIABLE))
      if (!variable.startsWith(prefix))
        reader.problems.push(`headers: ${name} names ${variable}, which does not begin with ${prefix}`);
  }
  return headers;
}

/** Members of the body of a call. */
const FIELDS: readonly unknown[] = [
  'run_id',
  'thread_id',
  'assistant_id',
  'created_at',
  'updated_at',
  'metadata',
  'kwargs',
  'multitask_strategy',
  'status',
  'run_started_at',
  'run_ended_at',
  'webhook_sent_at',
  'values',
  'error',
];

/** An empty list allows all, as for LangGraph's own server. */
function fieldsOf(reader: Reader, given: unknown): readonly string[] | undefined {
  if (given === undefined || given === null) return undefined;
  const unknown = Array.isArray(given) ? given.filter((name) => !FIELDS.includes(name)) : [given];
  if (unknown.length > 0)
    reader.problems.push(`allowed_fields: ${JSON.stringify(unknown)} must be among ${FIELDS.join(', ')}`);
  return Array.isArray(given) && given.length > 0 ? given.map(String) : undefined;
}

const VARIABLE = /\$\{\{\s*env\.([A-Za-z0-9_]+)\s*\}\}/g;

/** Names of the variables in texts of headers. */
export function webhookVariables({ headers }: Pick<WebhookSettings, 'headers'>): string[] {
  return Object.values(headers).flatMap((value) =>
    [...value.matchAll(VARIABLE)].map(([, name = '']) => name),
  );
}

/** The headers with the variables in their places. */
export function webhookHeaders(
  { headers }: Pick<WebhookSettings, 'headers'>,
  variables: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const filled = (text: string): string => text.replace(VARIABLE, (_, name: string) => variables[name] ?? '');
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, filled(value)]));
}

/** @returns the settings, and a text for each that is wrong */
export function parseWebhookSettings(settings: JsonObject): {
  readonly webhooks: WebhookSettings;
  readonly problems: readonly string[];
} {
  const reader = new Reader();
  const http = isJsonObject(settings['http']) ? settings['http'] : {};
  const given = reader.object(settings['webhooks'], '"webhooks"', [
    'env_prefix',
    'headers',
    'url',
    'allowed_fields',
  ]);
  const url = reader.object(given['url'], 'url', [
    'require_https',
    'allowed_domains',
    'allowed_ports',
    'disable_loopback',
    'disable_private_ips',
    'max_url_length',
  ]);
  const envPrefix = given['env_prefix'] ?? DEFAULT_PREFIX;
  if (typeof envPrefix !== 'string') reader.problems.push('env_prefix must be a text');
  const maxUrlLength = url['max_url_length'] ?? MAX_URL_LENGTH;
  if (!Number.isInteger(maxUrlLength) || Number(maxUrlLength) < 1)
    reader.problems.push('url.max_url_length must be a whole number above 0');
  const webhooks = {
    isDisabled: http['disable_webhooks'] === true,
    headers: headersOf(reader, given['headers'], String(envPrefix)),
    envPrefix: String(envPrefix),
    requiresHttps: reader.flag(url, 'require_https'),
    allowedDomains: reader.list(url, 'allowed_domains', isDomain)?.map((domain) => domain.toLowerCase()),
    allowedPorts: reader.list(url, 'allowed_ports', isPort),
    disablesLoopback: reader.flag(url, 'disable_loopback'),
    disablesPrivate: reader.flag(url, 'disable_private_ips'),
    maxUrlLength: Number(maxUrlLength),
    allowedFields: fieldsOf(reader, given['allowed_fields']),
  };
  return { webhooks, problems: reader.problems };
}
