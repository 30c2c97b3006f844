import { isJsonObject, type JsonObject } from '#lib/json';
import { definitions, groups } from '../schema/generated/definitions.js';
import { type KindNames, kindNames } from './kind-names.js';

/** Facts about a kind on which its paths depend. */
type PathKind = Pick<
  KindNames,
  'group' | 'version' | 'kind' | 'plural' | 'namespaced' | 'subresources' | 'definition'
>;

const PATCH_TYPES = [
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
  'application/apply-patch+yaml',
];
const BODY_TYPES = ['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf'];
const WRITE = ['dryRun', 'fieldManager', 'fieldValidation'];
const LIST = [
  'allowWatchBookmarks',
  'continue',
  'fieldSelector',
  'labelSelector',
  'limit',
  'resourceVersion',
  'watch',
];

type Action = 'list' | 'get' | 'post' | 'put' | 'patch' | 'delete' | 'deletecollection';

/** The paths of a stored kind; kubectl learns from them which patches and validations there are. */
function resourcePaths(kind: PathKind): JsonObject {
  const base = basePath(kind);
  const collection = collectionPath(kind);
  const scope = kind.namespaced ? { [`${base}/${kind.plural}`]: { get: operation(kind, 'list') } } : {};
  const subresources = kind.subresources
    .filter((name) => name === 'status')
    .map((name) => [`${collection}/{name}/${name}`, operations(kind, ['get', 'put', 'patch'])]);
  return {
    ...scope,
    [collection]: {
      ...operations(kind, ['post']),
      get: operation(kind, 'list'),
      delete: operation(kind, 'deletecollection'),
    },
    [`${collection}/{name}`]: operations(kind, ['get', 'put', 'patch', 'delete']),
    ...Object.fromEntries(subresources),
  };
}

/** The path of a kind that can only be posted. */
function reviewPaths(kind: PathKind): JsonObject {
  return { [collectionPath(kind)]: operations(kind, ['post']) };
}

function basePath({ group, version }: PathKind): string {
  return group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
}

function collectionPath(kind: PathKind): string {
  return `${basePath(kind)}${kind.namespaced ? '/namespaces/{namespace}' : ''}/${kind.plural}`;
}

function operations(kind: PathKind, actions: readonly Action[]): JsonObject {
  return Object.fromEntries(actions.map((action) => [action, operation(kind, action)]));
}

function operation(kind: PathKind, action: Action): JsonObject {
  const reference = { $ref: `${REFERENCE}${kind.definition}` };
  const { group, version } = kind;
  return {
    parameters: parametersOf(action).map((name) => ({
      name,
      in: 'query',
      schema: { type: 'string', uniqueItems: true },
    })),
    ...bodyOf(action, reference),
    responses: { 200: { description: 'OK', content: { 'application/json': { schema: reference } } } },
    'x-kubernetes-action': action,
    'x-kubernetes-group-version-kind': { group, kind: kind.kind, version },
  };
}

function parametersOf(action: Action): readonly string[] {
  switch (action) {
    case 'post':
    case 'put':
      return WRITE;
    case 'patch':
      return [...WRITE, 'force'];
    case 'delete':
      return ['dryRun', 'gracePeriodSeconds', 'propagationPolicy'];
    case 'list':
    case 'deletecollection':
      return LIST;
    case 'get':
      return [];
  }
}

function bodyOf(action: Action, reference: JsonObject): JsonObject {
  if (action !== 'post' && action !== 'put' && action !== 'patch') return {};
  const types = action === 'patch' ? PATCH_TYPES : BODY_TYPES;
  const schema = action === 'patch' ? { type: 'object' } : reference;
  return { requestBody: { content: Object.fromEntries(types.map((type) => [type, { schema }])) } };
}

const REFERENCE = '#/components/schemas/';
const TITLE = 'Kubernetes';
const VERSION = 'v1.34.4';

/** Kinds that are asked and answered, never stored. */
const reviews: readonly (PathKind & { readonly namespaced: boolean })[] = [
  review('authentication.k8s.io', 'SelfSubjectReview', 'selfsubjectreviews'),
  review('authentication.k8s.io', 'TokenReview', 'tokenreviews'),
  review('authorization.k8s.io', 'SelfSubjectAccessReview', 'selfsubjectaccessreviews'),
  review('authorization.k8s.io', 'SelfSubjectRulesReview', 'selfsubjectrulesreviews'),
  review('authorization.k8s.io', 'SubjectAccessReview', 'subjectaccessreviews'),
  {
    ...review('authorization.k8s.io', 'LocalSubjectAccessReview', 'localsubjectaccessreviews'),
    namespaced: true,
  },
];

function review(group: string, kind: string, plural: string) {
  const definition = `io.k8s.api.${group.split('.')[0] ?? ''}.v1.${kind}`;
  return { group, version: 'v1', kind, plural, namespaced: false, subresources: [], definition };
}

/**
 * The OpenAPI v3 document of a built-in group and version (`''`, `v1` for the core), with schemas and paths as kubectl
 * reads them; undefined when not built in.
 */
export function openapiForGroup(group: string, version: string): JsonObject | undefined {
  const name = group === '' ? version : `${group}/${version}`;
  const roots = Object.hasOwn(groups, name) ? groups[name] : undefined;
  if (roots === undefined) return undefined;
  const isMember = (kind: PathKind): boolean => kind.group === group && kind.version === version;
  const paths = [
    ...kindNames.filter(isMember).map((kind) => resourcePaths(kind)),
    ...reviews.filter(isMember).map((kind) => reviewPaths(kind)),
  ];
  return {
    openapi: '3.0.0',
    info: { title: TITLE, version: VERSION },
    paths: Object.assign({}, ...paths) as JsonObject,
    components: { schemas: reachable(roots) },
  };
}

/** The schemas that these refer to, directly or not, as they are published. */
function reachable(roots: readonly string[]): JsonObject {
  const names = new Set(roots);
  for (const name of names) {
    for (const found of references(definitions[name])) names.add(found);
  }
  return Object.fromEntries([...names].toSorted().map((name) => [name, published(definitions[name])]));
}

function references(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.flatMap(references);
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([key, item]) =>
    key === '$ref' && typeof item === 'string' ? [item.slice(REFERENCE.length)] : references(item),
  );
}

/**
 * Schema without our own notes; a reference with words beside it becomes `allOf`, as the standard wants it.
 */
function published(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(published);
  if (!isJsonObject(value)) return value;
  const { 'x-zero': _, $ref, ...rest } = value;
  const shown = Object.fromEntries(Object.entries(rest).map(([key, item]) => [key, published(item)]));
  if ($ref === undefined) return shown;
  return Object.keys(shown).length === 0 ? { $ref } : { ...shown, allOf: [{ $ref }] };
}
