import type { SchemaNode } from '../schema/schema-node.js';
import { FieldSet } from './field-set.js';

const META = [
  'name',
  'namespace',
  'creationTimestamp',
  'selfLink',
  'uid',
  'clusterName',
  'generation',
  'managedFields',
  'resourceVersion',
];

/** Fields without an owner. */
export const stripped = FieldSet.fromPaths([
  ['f:apiVersion'],
  ['f:kind'],
  ['f:metadata'],
  ...META.map((name) => ['f:metadata', `f:${name}`]),
]);

/**
 * Fields that a write does not change whatever it says, so that it does not own them: the status on the object
 * itself, the spec on its status.
 */
export function resetFields(
  subresource: string,
  schema: SchemaNode,
  hasStatus: boolean | undefined,
): FieldSet {
  const separate = hasStatus ?? schema.property('status') !== undefined;
  if (subresource === 'status') return FieldSet.fromPaths([['f:spec']]);
  return separate && subresource === '' ? FieldSet.fromPaths([['f:status']]) : FieldSet.EMPTY;
}
