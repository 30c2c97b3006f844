// JSON Schemas of kinds for kubeconform: of built-in ones from the OpenAPI document of Kubernetes, of our own from crds/.
// A field that a kind does not have is refused.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Where kubeconform finds what `writeKindSchemas` wrote. */
export const LOCATION = '{{.Group}}/{{.ResourceKind}}_{{.ResourceAPIVersion}}.json';

/** Types that the document calls strings although their texts may be written as numbers. */
const LOOSE = new Map([
  ['io.k8s.apimachinery.pkg.util.intstr.IntOrString', { type: ['string', 'integer'] }],
  ['io.k8s.apimachinery.pkg.api.resource.Quantity', { type: ['string', 'number'] }],
]);
const META = 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta';

/** Closes objects against other fields; turns what OpenAPI alone has into JSON Schema. */
function close(schema) {
  if (Array.isArray(schema)) return schema.map(close);
  if (typeof schema !== 'object' || schema === null) return schema;
  const { properties, nullable, description: _, ...rest } = schema;
  const out = Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, close(value)]));
  if (properties) {
    // a property may have the name of a word of the schema
    out.properties = Object.fromEntries(
      Object.entries(properties).map(([name, value]) => [name, close(value)]),
    );
    if (!schema['x-kubernetes-preserve-unknown-fields']) out.additionalProperties ??= false;
  }
  if (schema['x-kubernetes-int-or-string']) out.type = ['integer', 'string'];
  if (nullable && out.type) out.type = [out.type, 'null'].flat();
  return out;
}

function references(schema, found) {
  if (typeof schema !== 'object' || schema === null) return;
  if (typeof schema.$ref === 'string') found.add(schema.$ref.split('/').pop());
  for (const value of Object.values(schema)) references(value, found);
}

/** The schema with the definitions that it refers to, and no others. */
function whole(schema, definitions) {
  const needed = new Set();
  references(schema, needed);
  const found = {};
  // a set that grows is gone through to its end
  for (const name of needed) {
    found[name] = LOOSE.get(name) ?? close(definitions[name]);
    references(found[name], needed);
  }
  return { ...schema, definitions: found };
}

function builtIn(definitions, { group, version, kind }) {
  const name = Object.keys(definitions).find((candidate) =>
    definitions[candidate]['x-kubernetes-group-version-kind']?.some(
      (id) => id.group === group && id.version === version && id.kind === kind,
    ),
  );
  return name === undefined ? undefined : whole({ $ref: `#/definitions/${name}` }, definitions);
}

function own(definitions, crds, { group, version, kind }) {
  const crd = crds.find(({ spec }) => spec.group === group && spec.names.kind === kind);
  const schema = crd?.spec.versions.find(({ name }) => name === version)?.schema.openAPIV3Schema;
  if (schema === undefined) return undefined;
  const properties = {
    ...schema.properties,
    ...{ apiVersion: { type: 'string' }, kind: { type: 'string' } },
    metadata: { $ref: `#/definitions/${META}` },
  };
  return whole(close({ ...schema, properties }), definitions);
}

/**
 * Writes schemas of the kinds of some objects; of kinds that neither source knows none, which kubeconform reports.
 *
 * @param openapi the swagger.json of Kubernetes
 */
export function writeKindSchemas(folder, objects, openapi, crds) {
  const ids = new Set(objects.map(({ apiVersion, kind }) => `${apiVersion} ${kind}`));
  for (const id of ids) {
    const [apiVersion, kind] = id.split(' ');
    const [group, version] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion];
    const wanted = { group, version, kind };
    const schema = own(openapi.definitions, crds, wanted) ?? builtIn(openapi.definitions, wanted);
    if (schema === undefined) continue;
    // kubeconform calls the core group by its version
    const path = join(folder, group || version, `${kind.toLowerCase()}_${version}.json`);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, JSON.stringify(schema));
  }
}
