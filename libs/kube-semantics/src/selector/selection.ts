import type { KubeObject } from '../object/kube-object.js';
import type { ServedType } from '../served-type/served-type.js';
import { type FieldSelector, matchesFields, parseFieldSelector, selectedName } from './field-selector.js';
import { type LabelSelector, matchesLabels } from './label-selector.js';
import { parseLabelSelector } from './parse-label-selector.js';

/** Selection of the objects of a list, a watch or a deletecollection. */
export interface Selection {
  readonly namespace: string | undefined;
  readonly labels: LabelSelector;
  readonly fields: FieldSelector;
  /** The only name that can match. */
  readonly name: string | undefined;
}

/** Reads the selectors of a request; a name in the path narrows a watch to one object. */
export function parseSelection(
  query: URLSearchParams,
  served: ServedType,
  namespace: string,
  name: string,
): Selection {
  const fields = parseFieldSelector(query.get('fieldSelector') ?? '', served);
  return {
    namespace: served.type.namespaced && namespace !== '' ? namespace : undefined,
    labels: parseLabelSelector(query.get('labelSelector') ?? ''),
    fields,
    name: name || selectedName(fields),
  };
}

export function isSelected({ namespace, name, labels, fields }: Selection, object: KubeObject): boolean {
  const { metadata } = object;
  if (namespace !== undefined && metadata.namespace !== namespace) return false;
  if (name !== undefined && metadata.name !== name) return false;
  return matchesLabels(labels, metadata.labels) && matchesFields(fields, object);
}
