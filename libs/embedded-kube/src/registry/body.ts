import { findJsonTrouble, hasMoreValues, isJsonObject, type JsonObject, parseExactJson } from '#lib/json';
import {
  ApiError,
  badRequest,
  decodeProtobuf,
  type KubeObject,
  ProtobufError,
  unsupportedMediaType,
} from '#lib/kube-semantics';
import { contentType } from '../http/request-body.js';
import type { RequestContext } from '../http/request-context.js';
import { checkTextDepth, checkValueDepth } from './depth-bound.js';

/**
 * Maximum number of values, more than any object has that people write. Each takes a hundred times the memory
 * and the time of its two letters when it is defaulted, validated and shown, while all other requests wait.
 */
const MAX_VALUES = 100_000;

/** Throws 413 for JSON of more values than an object may have, before it is parsed. */
function checkTextValues(text: string): void {
  if (hasMoreValues(text, MAX_VALUES)) throw tooManyValues();
}

/**
 * Additional values for a patched object: one that came with the maximum must still be given a status, and
 * lose its finalizers.
 */
const ROOM_FOR_PATCHES = 1_000;

/** Throws 413 for the result of a patch that holds more of them; who wrote which field, as the server keeps it, aside. */
export function checkPatched(object: JsonObject): void {
  const { metadata } = object;
  const own = isJsonObject(metadata) ? { ...metadata, managedFields: undefined } : metadata;
  checkValues({ ...object, metadata: own }, MAX_VALUES + ROOM_FOR_PATCHES);
}

/** Throws 413 for a value that holds more of them: the result of protobuf. Depth is checked before. */
function checkValues(value: unknown, most = MAX_VALUES): void {
  let left = most;
  const count = (here: unknown): void => {
    const items = Array.isArray(here) ? here : isJsonObject(here) ? Object.values(here) : [];
    left -= items.length;
    if (left < 0) throw tooManyValues();
    for (const item of items) count(item);
  };
  count(value);
}

/** 413 */
function tooManyValues(): ApiError {
  const message = `Request entity too large: limit for the fields and items of an object is ${MAX_VALUES}`;
  return new ApiError(413, 'RequestEntityTooLarge', message);
}

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

const PROTOBUF = 'application/vnd.kubernetes.protobuf';
const ACCEPTED = ['application/json', 'application/yaml', PROTOBUF];

/** The body as JSON, from JSON (also without a Content-Type), YAML or Kubernetes protobuf; undefined when empty. */
export async function readObject(context: RequestContext): Promise<JsonObject | undefined> {
  const bytes = await context.readBody();
  if (bytes.length === 0) return undefined;
  const value = await decode(bytes, contentType(context.headers['content-type']), context);
  if (!isJsonObject(value)) throw badRequest('the object provided is unrecognized (must be of type Object)');
  return value;
}

function decode(bytes: Buffer, type: string, context: DecodingContext): unknown {
  switch (type) {
    case '':
    case '*/*':
    case 'application/json':
      return parseJson(bytes, context);
    case 'application/yaml':
      return parseYamlText(bytes, context);
    case PROTOBUF:
      return parseProtobuf(bytes);
    default:
      throw unsupportedMediaType(ACCEPTED);
  }
}

function parseJson(bytes: Buffer, context: DecodingContext): unknown {
  try {
    return readJson(bytes.toString('utf8'), context);
  } catch (error) {
    if (error instanceof ApiError) throw error;
    throw badRequest(`the object provided is unrecognized (must be of type Object): ${String(error)}`);
  }
}

/**
 * Parses YAML as Kubernetes reads it. JSON is YAML, and what most clients apply: it goes to the parser that is many times
 * faster, and the other is loaded by the first who needs it.
 */
export async function parseYamlText(bytes: Buffer, context: DecodingContext): Promise<unknown> {
  const text = bytes.toString('utf8');
  const json = text.startsWith('{') ? findJson(text, context) : undefined;
  if (json !== undefined) return json;
  const { parseYaml } = await import('./parse-yaml.js');
  return parseYaml(text);
}

/** Parses JSON; undefined when the text is not JSON. A mapping of YAML may begin with a brace too. */
function findJson(text: string, context: DecodingContext): unknown {
  try {
    return readJson(text, context);
  } catch (error) {
    if (error instanceof ApiError) throw error;
    return undefined;
  }
}

function parseProtobuf(bytes: Buffer): unknown {
  try {
    const value = decodeProtobuf(bytes);
    checkValueDepth(value); // it has JSON within
    checkValues(value);
    return value;
  } catch (error) {
    if (!(error instanceof ProtobufError)) throw error;
    if (error.status === 413) throw tooManyValues();
    throw error.status === 415 ? unsupportedMediaType(ACCEPTED.slice(0, 2)) : badRequest(error.message);
  }
}

/** Reads a KubeObject out of JSON: apiVersion and kind filled from what the path serves, metadata at least empty. */
export function asObject(
  body: JsonObject,
  expected: { readonly apiVersion: string; readonly kind: string },
): KubeObject {
  const apiVersion = body.apiVersion ?? expected.apiVersion;
  const kind = body.kind ?? expected.kind;
  if (kind !== expected.kind || apiVersion !== expected.apiVersion) {
    const [version = '', group = ''] = String(apiVersion).split('/').reverse();
    const [, wantedGroup = ''] = expected.apiVersion.split('/').reverse();
    throw new ApiError(
      400,
      'BadRequest',
      kind === expected.kind && group === wantedGroup
        ? `the API version in the data (${String(apiVersion)}) does not match the expected API version (${expected.apiVersion})`
        : `${String(kind)} in version "${version}" cannot be handled as a ${expected.kind}: no kind "${String(kind)}" is registered for version "${group ? `${group}/` : ''}${version}"`,
    );
  }
  const metadata = body.metadata ?? {};
  if (!isJsonObject(metadata)) throw badRequest(`${expected.kind} has metadata that is not an object`);
  return { ...body, apiVersion: expected.apiVersion, kind: expected.kind, metadata };
}
