/**
 * Semantics of Kubernetes objects without any server: schemas, rules, patches, apply, selectors, tables, wire
 * formats, built-in kinds.
 */
export { applyServerSide } from './apply/apply-server-side.js';
export { trackUpdate, withoutNoOp } from './apply/track-update.js';
export { type BuiltinKind, builtinKinds } from './builtin/builtin-kinds.js';
export { openapiForGroup } from './builtin/openapi-document.js';
export { compileSchema } from './compiled-schema/compile-schema.js';
export {
  dropUndefined,
  withField,
  withMetadata,
  type KubeObject,
  type ObjectMeta,
  timestamp,
} from './object/kube-object.js';
export { at, listAt, numberAt, recordAt, textAt, textsAt } from './object/reading.js';
export { jsonPatch } from './patch/json-patch.js';
export { mergePatch, PatchError } from './patch/merge-patch.js';
export { strategicMergePatch } from './patch/strategic-merge-patch.js';
export {
  addAmounts,
  type Amounts,
  parseAmounts,
  podRequests,
  type Shortage,
  shortages,
  usedBy,
} from './pod-resources/shortages.js';
export { decodeProtobuf, ProtobufError } from './protobuf/decode-protobuf.js';
export { formatQuantity } from './quantity/quantity.js';
export { type FieldError } from './schema/field-error.js';
export { validateObjectMeta, validateObjectMetaUpdate } from './schema/object-meta.js';
export { exactField, isSelected, parseSelection, type Selection } from './selector/field-selector.js';
export { labelSelectorText } from './selector/label-selector.js';
export {
  type KindRules,
  type PrinterColumn,
  inVersion,
  apiVersionOf,
  metaRules,
  type ResourceType,
  storageKey,
  type ScalePaths,
  type ServedType,
  type ServedVersion,
} from './served-type/served-type.js';
export {
  ApiError,
  type StatusCause,
  alreadyExists,
  badRequest,
  conflict,
  expired,
  forbidden,
  generateNameExhausted,
  internalError,
  invalid,
  methodNotAllowed,
  modified,
  notFound,
  qualified,
  type ResourceName,
  timeout,
  unauthorized,
  unsupportedMediaType,
} from './status/errors.js';
export { humanDuration, type TableKind } from './table/table-kind.js';
export { podTable } from './table/pod-table.js';
export { parseJsonPath, type JsonPath, tableOf } from './table/table-of.js';
