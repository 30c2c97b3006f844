import { isJsonObject, type JsonObject } from '#lib/json';
import {
  ApiError,
  badRequest,
  jsonPatch,
  mergePatch,
  PatchError,
  type ResourceType,
  strategicMergePatch,
  unsupportedMediaType,
} from '#lib/kube-semantics';
import { contentType } from '../http/request-body.js';
import type { RequestContext } from '../http/request-context.js';
import { checkPatched, type DecodingContext, parseYamlText, readJson } from './body.js';
import { checkValueDepth } from './depth-bound.js';

/** A patch as it was sent. */
export type Patch =
  | { readonly kind: 'json' | 'merge' | 'strategic'; readonly body: unknown }
  | { readonly kind: 'apply'; readonly body: JsonObject };

const JSON_PATCH = 'application/json-patch+json';
const MERGE_PATCH = 'application/merge-patch+json';
const STRATEGIC_PATCH = 'application/strategic-merge-patch+json';
const APPLY_PATCH = 'application/apply-patch+yaml';
const MAX_JSON_PATCH_OPERATIONS = 10_000;

/** Kubernetes says no more about a JSON patch that does not fit. */
const REFUSED = 'the server rejected our request due to an error in our request';

/** Content types of PATCH: custom resources know no strategic merge, since their lists have no merge keys. */
export function patchTypes(type: Pick<ResourceType, 'isCustom'>): readonly string[] {
  return type.isCustom
    ? [JSON_PATCH, MERGE_PATCH, APPLY_PATCH]
    : [JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY_PATCH];
}

/** Reads the patch; 415 when the type does not take its kind. */
export async function readPatch(
  context: RequestContext,
  type: Pick<ResourceType, 'isCustom'>,
): Promise<Patch> {
  const sent = contentType(context.headers['content-type']);
  const accepted = patchTypes(type);
  if (!accepted.includes(sent)) throw unsupportedMediaType(accepted);
  const bytes = await context.readBody();
  if (sent === APPLY_PATCH) {
    const body = await parseYamlText(bytes, context);
    if (!isJsonObject(body))
      throw badRequest('error decoding YAML: the applied configuration is not an object');
    const { apiVersion = '', kind = '' } = body;
    if (apiVersion === '' || kind === '') {
      const version = String(apiVersion).includes('/') ? String(apiVersion) : `/${String(apiVersion)}`;
      throw badRequest(`invalid object type: ${version}, Kind=${String(kind)}`);
    }
    return { kind: 'apply', body };
  }
  const body = parsePatchJson(bytes, context);
  if (sent !== JSON_PATCH && !isJsonObject(body)) {
    const message = `json: cannot unmarshal ${goTypeName(body)} into Go value of type map[string]interface {}`;
    throw badRequest(`error decoding patch: ${message}`);
  }
  if (sent === MERGE_PATCH) return { kind: 'merge', body };
  if (sent === STRATEGIC_PATCH) return { kind: 'strategic', body };
  if (Array.isArray(body) && body.length > MAX_JSON_PATCH_OPERATIONS) {
    const message = `The allowed maximum operations in a JSON patch is ${MAX_JSON_PATCH_OPERATIONS}, got ${body.length}`;
    throw new ApiError(413, 'RequestEntityTooLarge', message);
  }
  return { kind: 'json', body };
}

/** Alone among patches it can nest what was there in itself. */
function notTooDeep<T extends JsonObject>(object: T): T {
  checkValueDepth(object);
  return notTooMany(object);
}

/** One patch after the other makes an object grow. */
function notTooMany<T extends JsonObject>(object: T): T {
  checkPatched(object);
  return object;
}

function goTypeName(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  return typeof value === 'boolean' ? 'bool' : typeof value;
}

function parsePatchJson(bytes: Buffer, context: DecodingContext): unknown {
  try {
    return readJson(bytes.toString('utf8'), context);
  } catch (error) {
    if (error instanceof ApiError) throw error;
    throw badRequest(`error decoding patch: ${String(error)}`);
  }
}

/** The object after a patch that is no apply. Throws 400, 413, 415 or 422. */
export function patched<T extends JsonObject>(
  type: Pick<ResourceType, 'group' | 'kind'>,
  object: T,
  patch: { readonly kind: 'json' | 'merge' | 'strategic'; readonly body: unknown },
): T {
  try {
    switch (patch.kind) {
      case 'json':
        return notTooDeep(jsonPatch(object, patch.body));
      case 'merge':
        return notTooMany(mergePatch(object, patch.body));
      case 'strategic':
        return notTooMany(strategicMergePatch(type, object, patch.body));
    }
  } catch (error) {
    if (!(error instanceof PatchError)) throw error;
    if (error.status === 422) throw new ApiError(422, 'Invalid', REFUSED, {});
    throw error.status === 415
      ? new ApiError(415, 'UnsupportedMediaType', error.message)
      : badRequest(error.message);
  }
}
