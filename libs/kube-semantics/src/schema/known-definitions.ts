import type { JsonObject } from '#lib/json';
import { definitions } from './generated/definitions.js';
import { SchemaNode } from './schema-node.js';

const APIEXTENSIONS = 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.';
const META = 'io.k8s.apimachinery.pkg.apis.meta.v1.';
const FREE: JsonObject = { 'x-kubernetes-preserve-unknown-fields': true };
/** A schema, or in its place a boolean or a list of names; those are scalars to everything that walks it. */
const SCHEMA_OR_ELSE: JsonObject = { $ref: `${APIEXTENSIONS}JSONSchemaProps`, type: '' };

/** Definitions of types that Kubernetes encodes by hand, which the published documents lack. */
const overrides: Readonly<Record<string, JsonObject>> = {
  [`${META}FieldsV1`]: { type: 'object', 'x-kubernetes-map-type': 'atomic', ...FREE },
  'io.k8s.apimachinery.pkg.runtime.RawExtension': { type: 'object', ...FREE },
  [`${APIEXTENSIONS}JSON`]: FREE,
  [`${APIEXTENSIONS}JSONSchemaPropsOrArray`]: SCHEMA_OR_ELSE,
  [`${APIEXTENSIONS}JSONSchemaPropsOrBool`]: SCHEMA_OR_ELSE,
  [`${APIEXTENSIONS}JSONSchemaPropsOrStringArray`]: SCHEMA_OR_ELSE,
};

const nodes = new Map<string, SchemaNode>();

/** The schema of a Kubernetes type by its name in the OpenAPI documents, for example `io.k8s.api.core.v1.Pod`. */
export function knownDefinition(name: string): SchemaNode | undefined {
  const known = nodes.get(name);
  if (known !== undefined) return known;
  const source = overrides[name] ?? definitions[name];
  if (source === undefined) return undefined;
  const made = new SchemaNode(source, knownDefinition);
  nodes.set(name, made);
  return made;
}

/** The schema of every object's metadata. */
export function objectMetaSchema(): SchemaNode {
  const node = knownDefinition(`${META}ObjectMeta`);
  if (node === undefined)
    throw new Error('The generated definitions have no ObjectMeta; run the extraction again.');
  return node;
}
