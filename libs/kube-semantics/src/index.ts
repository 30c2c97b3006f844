/**
 * Semantics of Kubernetes objects without any server: schemas, rules, patches, apply, selectors, tables, wire
 * formats, built-in kinds.
 */
export { applyServerSide } from './apply/apply-server-side.js';
export { trackUpdate, withoutNoOp } from './apply/track-update.js';
export { type BuiltinKind } from './builtin/builtin-kind.js';
export { builtinKinds } from './builtin/builtin-kinds.js';
export { openapiForGroup } from './builtin/openapi-document.js';
export { compileSchema } from './compiled-schema/compile-schema.js';
export { dropUndefined, withField, withMetadata } from './object/change.js';
export { type KubeObject, type ObjectMeta } from './object/kube-object.js';
export { at, listAt, numberAt, recordAt, textAt, textsAt } from './object/reading.js';
export { timestamp } from './object/timestamp.js';
export { jsonPatch } from './patch/json-patch.js';
export { mergePatch } from './patch/merge-patch.js';
export { PatchError } from './patch/patch-error.js';
export { strategicMergePatch } from './patch/strategic-merge-patch.js';
export { addAmounts, type Amounts, parseAmounts, podRequests } from './pod-resources/pod-requests.js';
export { type Shortage, shortages, usedBy } from './pod-resources/shortages.js';
export { decodeProtobuf, ProtobufError } from './protobuf/decode-protobuf.js';
export { formatQuantity } from './quantity/quantity.js';
export { type FieldError } from './schema/field-error.js';
export { validateObjectMeta, validateObjectMetaUpdate } from './schema/object-meta.js';
export { exactField } from './selector/field-selector.js';
export { labelSelectorText } from './selector/label-selector.js';
export { isSelected, parseSelection, type Selection } from './selector/selection.js';
export { type KindRules } from './served-type/kind-rules.js';
export { type PrinterColumn } from './served-type/printer-column.js';
export { inVersion } from './served-type/in-version.js';
export { apiVersionOf, metaRules, type ResourceType, storageKey } from './served-type/resource-type.js';
export { type ScalePaths } from './served-type/scale-paths.js';
export { type ServedType } from './served-type/served-type.js';
export { type ServedVersion } from './served-type/served-version.js';
export { ApiError, type StatusCause } from './status/api-error.js';
export {
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
export { humanDuration } from './table/human-duration.js';
export { podTable } from './table/pod-table.js';
export { parseJsonPath, type JsonPath } from './table/json-path.js';
export { type TableKind } from './table/table-kind.js';
export { tableOf } from './table/table-of.js';
