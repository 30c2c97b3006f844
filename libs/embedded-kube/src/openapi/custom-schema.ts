import { isJsonObject } from '#lib/json';

const META = '#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta';
const LIST_META = '#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta';

const API_VERSION = {
  description:
    'APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized schemas to the latest internal value, and may reject unrecognized values. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources',
  type: 'string',
};
const KIND = {
  description:
    'Kind is a string value representing the REST resource this object represents. Servers may infer this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds',
  type: 'string',
};
const METADATA = {
  description:
    "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata",
  allOf: [{ $ref: META }],
};

/** The published schema of a custom resource: the definition's own, with the fields that every object has. */
export function objectSchema(
  schema: Readonly<Record<string, unknown>> | undefined,
  group: string,
  version: string,
  kind: string,
): object {
  const base = schema ?? { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  const properties = isJsonObject(base.properties) ? base.properties : {};
  return {
    ...base,
    type: 'object',
    properties: { ...properties, apiVersion: API_VERSION, kind: KIND, metadata: METADATA },
    'x-kubernetes-group-version-kind': [{ group, kind, version }],
  };
}

/** The published schema of its list. */
export function listSchema(reference: string, group: string, version: string, listKind: string): object {
  return {
    description: `${listKind} is a list of objects`,
    type: 'object',
    required: ['items'],
    properties: {
      apiVersion: API_VERSION,
      kind: KIND,
      items: { type: 'array', items: { allOf: [{ $ref: reference }], default: {} } },
      metadata: { description: 'Standard list metadata.', allOf: [{ $ref: LIST_META }] },
    },
    'x-kubernetes-group-version-kind': [{ group, kind: listKind, version }],
  };
}
