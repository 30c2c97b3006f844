import { createHash } from 'node:crypto';
import { openapiForGroup, recordAt, type ResourceType, type ServedVersion } from '#lib/kube-semantics';
import type { Discovery } from '../discovery/discovery.js';
import type { TypeRegistry } from '../registry/type-registry.js';
import { isJsonObject } from '#lib/json';
import { patchTypes } from '../registry/patch-body.js';

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
function objectSchema(
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
function listSchema(reference: string, group: string, version: string, listKind: string): object {
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

type Schemas = Readonly<Record<string, unknown>>;

const META_PREFIX = 'io.k8s.apimachinery.pkg.apis.meta.v1.';

/**
 * The OpenAPI v3 document of a group of custom resources. kubectl takes three things from it: that writes know
 * `fieldValidation` and `dryRun`, which patch types there are, and what `explain` shows.
 * @param coreDocument the document of `api/v1`, for the schemas of metadata
 */
function customDocument(
  types: readonly ResourceType[],
  group: string,
  version: string,
  coreDocument: unknown,
): object {
  const schemas: Record<string, unknown> = {
    ...metaSchemas(recordAt(coreDocument, 'components', 'schemas')),
  };
  const paths: Record<string, unknown> = {};
  for (const type of types) {
    const served = type.versions.find(({ name }) => name === version);
    if (!served) continue;
    const name = `${group.split('.').reverse().join('.')}.${version}.${type.kind}`;
    schemas[name] = objectSchema(served.openApiSchema, group, version, type.kind);
    schemas[`${name}List`] = listSchema(`#/components/schemas/${name}`, group, version, type.listKind);
    Object.assign(paths, pathsOf(type, served, `#/components/schemas/${name}`));
  }
  return {
    openapi: '3.0.0',
    info: { title: 'Kubernetes CRD Swagger', version: 'v0.1.0' },
    paths,
    components: { schemas },
  };
}

function metaSchemas(schemas: Schemas): Schemas {
  return Object.fromEntries(Object.entries(schemas).filter(([name]) => name.startsWith(META_PREFIX)));
}

function pathsOf(
  type: ResourceType,
  served: ServedVersion,
  reference: string,
): Readonly<Record<string, object>> {
  const base = `/apis/${type.group}/${served.name}`;
  const collection = type.namespaced
    ? `${base}/namespaces/{namespace}/${type.resource}`
    : `${base}/${type.resource}`;
  const operation = operationOf(type, served, reference);
  return {
    ...(type.namespaced ? { [`${base}/${type.resource}`]: { get: operation('list', []) } } : {}),
    [collection]: {
      get: operation('list', []),
      post: operation('post', WRITE_PARAMETERS),
      delete: operation('deletecollection', ['dryRun']),
    },
    [`${collection}/{name}`]: {
      get: operation('get', []),
      put: operation('put', WRITE_PARAMETERS),
      patch: operation('patch', [...WRITE_PARAMETERS, 'force']),
      delete: operation('delete', ['dryRun']),
    },
    ...(served.hasStatus
      ? {
          [`${collection}/{name}/status`]: {
            get: operation('get', []),
            put: operation('put', WRITE_PARAMETERS),
            patch: operation('patch', [...WRITE_PARAMETERS, 'force']),
          },
        }
      : {}),
  };
}

const WRITE_PARAMETERS = ['dryRun', 'fieldManager', 'fieldValidation'];
const WITH_BODY = new Set(['post', 'put', 'patch']);

function operationOf({ group, kind }: ResourceType, { name: version }: ServedVersion, reference: string) {
  return (action: string, parameters: readonly string[]): object => {
    const content =
      action === 'patch' ? patchTypes({ isCustom: true }) : ['application/json', 'application/yaml'];
    const schema = action === 'patch' ? { type: 'object' } : { $ref: reference };
    return {
      parameters: parameters.map((parameter) => ({
        name: parameter,
        in: 'query',
        schema: { type: 'string', uniqueItems: true },
      })),
      ...(WITH_BODY.has(action)
        ? { requestBody: { content: Object.fromEntries(content.map((type) => [type, { schema }])) } }
        : {}),
      responses: {
        200: { description: 'OK', content: { 'application/json': { schema: { $ref: reference } } } },
      },
      'x-kubernetes-action': action,
      'x-kubernetes-group-version-kind': { group, kind, version },
    };
  };
}

/**
 * `/openapi/v2` as kubectl asks for it: an empty document (swagger "2.0", info title "Kubernetes", version "v1.34.4")
 * in protobuf. It only has to be there; everything kubectl reads comes from v3.
 */
export const OPENAPI_V2 = {
  contentType: 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf',
  body: Buffer.from('\x0a\x032.0\x12\x15\x0a\x0aKubernetes\x12\x07v1.34.4', 'latin1'),
} as const;

interface Document {
  readonly text: string;
  readonly hash: string;
}

/** The OpenAPI v3 documents of all groups, made when first asked for and again when definitions change. */
export class OpenApi {
  readonly #documents = new Map<string, Document>();
  readonly #builtin = new Map<string, Document>();

  constructor(
    private readonly types: TypeRegistry,
    private readonly discovery: Discovery,
  ) {
    types.onChange(() => this.#documents.clear());
  }

  /** The index: where each group's document is. The hash lets clients keep it. */
  index(): object {
    const paths = this.discovery.groups().flatMap(({ group, versions }) =>
      versions.map(({ version }) => {
        const path = group === '' ? `api/${version}` : `apis/${group}/${version}`;
        const hash = this.#document(group, version).hash;
        return [path, { serverRelativeURL: `/openapi/v3/${path}?hash=${hash}` }] as const;
      }),
    );
    return { paths: Object.fromEntries(paths) };
  }

  /** JSON of one document; undefined when the group is not served. */
  document(group: string, version: string): string | undefined {
    const isServed = this.discovery
      .groups()
      .some((each) => each.group === group && each.versions.some((served) => served.version === version));
    return isServed ? this.#document(group, version).text : undefined;
  }

  #document(group: string, version: string): Document {
    const key = `${group}/${version}`;
    const known = this.#builtin.get(key) ?? this.#documents.get(key);
    if (known) return known;
    const builtin = openapiForGroup(group, version);
    const types = this.types.list().filter((type) => type.group === group);
    const text = JSON.stringify(builtin ?? customDocument(types, group, version, openapiForGroup('', 'v1')));
    const document = {
      text,
      hash: createHash('sha256').update(text).digest('hex').slice(0, 32).toUpperCase(),
    };
    (builtin ? this.#builtin : this.#documents).set(key, document);
    return document;
  }
}
