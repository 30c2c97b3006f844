import { isScalar, parseDocument, visit, type YAMLMap } from 'yaml';
import { exactInteger } from '#lib/json';
import { ApiError, badRequest } from '#lib/kube-semantics';
import { checkValueDepth } from './depth-bound.js';

/** The parser takes about a second for so much, in which nothing else is served. JSON is read fifty times faster. */
const MAX_LETTERS = 256 * 1024;

/**
 * Parses YAML that is no JSON. Keys that come twice are looked for here, in linear time: the parser compares each key of
 * a mapping with all others, and would take ten minutes for 3 MB of them; so would texts of many errors, of which it
 * finds the lines one by one.
 * @throws ApiError 400, 413
 */
export function parseYaml(text: string): unknown {
  if (text.length > MAX_LETTERS) {
    const message = `Request entity too large: limit for YAML is ${MAX_LETTERS}; send JSON`;
    throw new ApiError(413, 'RequestEntityTooLarge', message);
  }
  try {
    const document = parseDocument(text, { uniqueKeys: false, prettyErrors: false });
    const [error] = document.errors;
    if (error) throw badYaml(error.message, text, error.pos[0]);
    visit(document, {
      Map: (_, map) => checkKeys(map, text),
      Scalar: (_, scalar) => {
        if (typeof scalar.value === 'number') scalar.value = exactInteger(scalar.source ?? '', scalar.value);
      },
    });
    const value: unknown = document.toJS({ maxAliasCount: 0 });
    checkValueDepth(value);
    return value;
  } catch (error) {
    if (error instanceof ApiError) throw error;
    throw badRequest(`error decoding YAML: ${String(error)}`);
  }
}

function checkKeys(map: YAMLMap, text: string): void {
  const seen = new Set<unknown>();
  for (const { key } of map.items) {
    const at = (key as { range?: readonly number[] } | null)?.range?.[0] ?? 0;
    if (key !== null && !isScalar(key)) throw badYaml('Map keys must be scalars', text, at);
    const value = key === null ? null : key.value;
    if (seen.has(value)) throw badYaml('Map keys must be unique', text, at);
    seen.add(value);
  }
}

function badYaml(message: string, text: string, position: number): ApiError {
  const line = text.slice(0, position).split('\n').length;
  return badRequest(`error decoding YAML: ${message} at line ${line}`);
}
