import type { Environment } from '@marcbachmann/cel-js';
import type { RE2JS } from 're2js';
import { isJsonObject } from '#lib/json';
import { pattern } from '../schema/pattern.js';

/** `format` of CEL's string extensions: `%s %d %f %e %b %x %X %o %%`, with a precision for fractions. */
function formatCel(template: string, values: readonly unknown[]): string {
  let next = 0;
  return template.replaceAll(
    /%(?:\.(\d+))?([sdfebxXo%])/g,
    (_, precision: string | undefined, clause: string) => {
      if (clause === '%') return '%';
      if (next >= values.length) throw new Error(`index ${next} out of range`);
      return render(values[next++], clause, precision === undefined ? 6 : Number(precision));
    },
  );
}

function render(value: unknown, clause: string, precision: number): string {
  switch (clause) {
    case 's':
      return printCel(value);
    case 'd':
      return String(value);
    case 'f':
      return Number(value).toFixed(precision);
    case 'e':
      return Number(value)
        .toExponential(precision)
        .replace(/e([+-])(\d)$/, 'e$10$2');
    case 'b':
      return typeof value === 'boolean' ? (value ? '1' : '0') : BigInt(String(value)).toString(2);
    case 'o':
      return BigInt(String(value)).toString(8);
    default:
      return hex(value, clause);
  }
}

function hex(value: unknown, clause: string): string {
  const text =
    typeof value === 'string' ? Buffer.from(value).toString('hex') : BigInt(String(value)).toString(16);
  return clause === 'X' ? text.toUpperCase() : text;
}

/** A value as `%s` shows it. */
function printCel(value: unknown): string {
  if (value === null) return 'null';
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return `[${value.map(printCel).join(', ')}]`;
  if (!isJsonObject(value) || Object.getPrototypeOf(value) !== Object.prototype) return String(value);
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, item]) => `${key}: ${printCel(item)}`).join(', ')}}`;
}

/** Kubernetes' URL library. */
export function registerUrlFunctions(environment: Environment): void {
  environment.registerType('kubernetes.URL', URL);
  environment.registerFunction('isURL(string): bool', isUrl);
  environment.registerFunction('url(string): kubernetes.URL', parse);
  environment.registerFunction('kubernetes.URL.getScheme(): string', (url: URL) => url.protocol.slice(0, -1));
  environment.registerFunction('kubernetes.URL.getHost(): string', (url: URL) => url.host);
  environment.registerFunction('kubernetes.URL.getHostname(): string', (url: URL) =>
    url.hostname.replaceAll(/^\[|\]$/g, ''),
  );
  environment.registerFunction('kubernetes.URL.getPort(): string', (url: URL) => url.port);
  environment.registerFunction('kubernetes.URL.getEscapedPath(): string', (url: URL) => url.pathname);
  environment.registerFunction('kubernetes.URL.getQuery(): map', (url: URL) =>
    Object.fromEntries(
      [...new Set(url.searchParams.keys())].map((key) => [key, [...url.searchParams.getAll(key)]]),
    ),
  );
}

function isUrl(text: string): boolean {
  return (/^[a-zA-Z][a-zA-Z0-9+.-]*:/.test(text) && URL.canParse(text)) || /^\/[^\s]*$/.test(text);
}

function parse(text: string): URL {
  if (!isUrl(text))
    throw new Error(
      `URL parse error during conversion from string: parse ${JSON.stringify(text)}: invalid URI for request`,
    );
  return new URL(text, 'relative://');
}

class StringsNamespace {}

/** CEL's string extensions that the engine lacks, and Kubernetes' `find` and `findAll`. */
export function registerStringFunctions(environment: Environment): void {
  environment.registerFunction('string.reMatches(string): bool', matches);
  environment.registerFunction('reMatches(string, string): bool', matches);
  environment.registerFunction('string.find(string): string', (text: string, source: string) =>
    find(text, source),
  );
  environment.registerFunction('string.findAll(string): list<string>', (text: string, source: string) =>
    findAll(text, source, -1n),
  );
  environment.registerFunction('string.findAll(string, int): list<string>', findAll);
  environment.registerFunction('string.charAt(int): string', charAt);
  environment.registerFunction(
    'string.replace(string, string): string',
    (text: string, from: string, to: string) => text.replaceAll(from, () => to),
  );
  environment.registerFunction('string.replace(string, string, int): string', replaceSome);
  environment.registerFunction('string.reverse(): string', (text: string) => [...text].toReversed().join(''));
  environment.registerFunction('string.format(list): string', formatCel);
  environment.registerType('StringsNamespace', StringsNamespace);
  environment.registerConstant('strings', 'StringsNamespace', new StringsNamespace());
  environment.registerFunction('StringsNamespace.quote(string): string', (_: unknown, text: string) =>
    JSON.stringify(text),
  );
}

function compiled(source: string): RE2JS {
  const found = pattern(source);
  if (found instanceof Error) throw new Error(`error parsing regexp: ${found.message}`);
  return found;
}

function matches(text: string, source: string): boolean {
  return compiled(source).matcher(text).find();
}

function find(text: string, source: string): string {
  const matcher = compiled(source).matcher(text);
  return matcher.find() ? (matcher.group() ?? '') : '';
}

function findAll(text: string, source: string, most: bigint): readonly string[] {
  const matcher = compiled(source).matcher(text);
  const found: string[] = [];
  while ((most < 0n || found.length < most) && matcher.find()) found.push(matcher.group() ?? '');
  return found;
}

function charAt(text: string, at: bigint): string {
  const letters = [...text];
  if (at < 0n || at > letters.length) throw new Error(`index out of range: ${at}`);
  return letters[Number(at)] ?? '';
}

function replaceSome(text: string, from: string, to: string, most: bigint): string {
  if (most < 0n) return text.replaceAll(from, () => to);
  let left = most;
  return text.replaceAll(from, (found) => (left-- > 0n ? to : found));
}
