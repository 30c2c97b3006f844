import { isJsonObject, type JsonObject } from '#lib/json';
import { definitions, groups } from '../schema/generated/definitions.js';
import { kindNames } from './kind-names.js';
import { type PathKind, resourcePaths, reviewPaths } from './openapi-paths.js';

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
