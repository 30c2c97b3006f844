import type { JsonObject } from '#lib/json';
import type { KindNames } from './kind-names.js';

/** Facts about a kind on which its paths depend. */
export type PathKind = Pick<
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
const REFERENCE = '#/components/schemas/';

type Action = 'list' | 'get' | 'post' | 'put' | 'patch' | 'delete' | 'deletecollection';

/** The paths of a stored kind; kubectl learns from them which patches and validations there are. */
export function resourcePaths(kind: PathKind): JsonObject {
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
export function reviewPaths(kind: PathKind): JsonObject {
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
