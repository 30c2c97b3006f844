/** What Kubernetes objects mean, free of any server: schemas, rules, patches, apply, wire formats, built-in kinds. */
export { applyServerSide, type ApplyRequest, type ApplyResult } from './apply/apply-server-side.js';
export type { FieldConflict } from './apply/field-conflict.js';
export { trackUpdate, withoutNoOp, type UpdateRequest } from './apply/track-update.js';
export type { BuiltinKind } from './builtin/builtin-kind.js';
export { builtinKinds } from './builtin/builtin-kinds.js';
export { openapiForGroup } from './builtin/openapi-document.js';
export { jsonPatch } from './patch/json-patch.js';
export { mergePatch } from './patch/merge-patch.js';
export { PatchError } from './patch/patch-error.js';
export { strategicMergePatch, type GroupKind } from './patch/strategic-merge-patch.js';
export { decodeProtobuf, ProtobufError } from './protobuf/decode-protobuf.js';
export type { CompiledSchema, Pruned, ValidateOptions } from './schema/compiled-schema.js';
export { compileSchema } from './schema/compile-schema.js';
export { validateCustomResourceDefinition } from './schema/custom-resource-definition.js';
export { fieldErrorsText, type FieldError, type FieldErrorReason } from './schema/field-error.js';
export type { JsonObject } from './schema/json.js';
export {
  validateObjectMeta,
  validateObjectMetaUpdate,
  type NameRule,
  type ObjectMetaRules,
} from './schema/object-meta.js';
