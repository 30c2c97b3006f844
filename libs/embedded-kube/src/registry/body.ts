import { isJsonObject, type JsonObject } from '#lib/json';
import {
  ApiError,
  badRequest,
  decodeProtobuf,
  type KubeObject,
  ProtobufError,
  unsupportedMediaType,
} from '#lib/kube-semantics';
import { contentType } from '../http/media-type.js';
import type { RequestContext } from '../http/request-context.js';
import { checkValueDepth } from './depth-bound.js';
import { type DecodingContext, readJson } from './read-json.js';
import { checkValues, tooManyValues } from './size-bound.js';

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
