import { findJsonTrouble, isJsonObject, parseExactJson } from '#lib/json';
import { badRequest } from '#lib/kube-semantics';
import type { RequestContext } from '../http/request-context.js';
import { checkTextDepth } from './depth-bound.js';
import { checkTextValues } from './size-bound.js';

/** Parts of a request that say how duplicate fields are reported. */
export type DecodingContext = Pick<RequestContext, 'query' | 'warn'>;

/** An escaped backslash, a whole pair, or half of one. */
const ESCAPES =
  /\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[dD][89a-fA-F][0-9a-fA-F]{2}/g;

/**
 * Parses JSON as Kubernetes reads it: of a field that comes twice the last one counts, which is refused, warned about or
 * ignored as `fieldValidation` asks; half a surrogate pair becomes U+FFFD.
 * @throws SyntaxError for malformed JSON, ApiError 400, 413
 */
export function readJson(text: string, context: DecodingContext): unknown {
  checkTextDepth(text);
  checkTextValues(text);
  const value: unknown = parseExactJson(/\\u[dD]/.test(text) ? text.replace(ESCAPES, whole) : text);
  reportDuplicate(text, value, context);
  return value;
}

function whole(escape: string): string {
  return escape.length === 6 ? '\\ufffd' : escape;
}

function reportDuplicate(text: string, value: unknown, { query, warn }: DecodingContext): void {
  const validation = query.get('fieldValidation');
  if (validation === 'Ignore') return;
  const trouble = findJsonTrouble(text, { duplicatesOnly: true });
  if (!trouble) return;
  const message = `duplicate field "${fieldPath(trouble.path)}"`;
  if (validation !== 'Strict') return warn(message);
  const { kind, apiVersion } = isJsonObject(value) ? value : {};
  const version = String(apiVersion).split('/').at(-1);
  const as =
    typeof kind === 'string' ? `${kind} in version "${version}" cannot be handled as a ${kind}: ` : '';
  throw badRequest(`${as}strict decoding error: ${message}`);
}

function fieldPath(path: readonly (string | number)[]): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`;
    return text === '' ? part : `${text}.${part}`;
  }, '');
}
