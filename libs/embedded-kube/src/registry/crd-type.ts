import { isJsonObject, type JsonObject } from '#lib/json';
import {
  at,
  compileSchema,
  type KindRules,
  type KubeObject,
  listAt,
  type PrinterColumn,
  type ResourceType,
  type ScalePaths,
  type ServedVersion,
  textAt,
  textsAt,
} from '#lib/kube-semantics';

/** Columns that `kubectl get` shows for a CRD that names no columns. */
const AGE_ONLY: readonly PrinterColumn[] = [
  {
    name: 'Age',
    type: 'date',
    description:
      'CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed to be set in happens-before order across separate operations. Clients may not set this value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata',
    jsonPath: '.metadata.creationTimestamp',
  },
];

/** The resource type that a CustomResourceDefinition describes; undefined while it serves no version. */
export function typeOfCrd(crd: KubeObject): ResourceType | undefined {
  const spec = crd.spec;
  const versions = listAt(spec, 'versions').filter((version) => at(version, 'served') === true);
  const storage = listAt(spec, 'versions').find((version) => at(version, 'storage') === true);
  if (versions.length === 0 || !storage) return undefined;
  const kind = textAt(spec, ['names', 'kind']);
  const group = textAt(spec, ['group']);
  return {
    group,
    resource: textAt(spec, ['names', 'plural']),
    singular: textAt(spec, ['names', 'singular'], kind.toLowerCase()),
    kind,
    listKind: textAt(spec, ['names', 'listKind'], `${kind}List`),
    namespaced: textAt(spec, ['scope']) === 'Namespaced',
    shortNames: textsAt(spec, 'names', 'shortNames'),
    categories: textsAt(spec, 'names', 'categories'),
    isCustom: true,
    nameRule: 'dns-subdomain',
    hasGeneration: true,
    storageVersion: textAt(storage, ['name']),
    versions: versions.map((version) => servedVersion(version, group, kind)).sort(byVersionPriority),
  };
}

function servedVersion(version: unknown, group: string, kind: string): ServedVersion {
  const name = textAt(version, ['name']);
  const schema = at(version, 'schema', 'openAPIV3Schema');
  const scale = scalePaths(at(version, 'subresources', 'scale'));
  const columns = listAt(version, 'additionalPrinterColumns').map(printerColumn);
  const deprecation = `${group}/${name} ${kind} is deprecated`;
  return {
    name,
    rules: customRules(isJsonObject(schema) ? schema : ANYTHING),
    ...(isJsonObject(schema) ? { openApiSchema: schema } : {}),
    hasStatus: isJsonObject(at(version, 'subresources', 'status')),
    ...(scale ? { scale } : {}),
    columns: columns.length > 0 ? columns : AGE_ONLY,
    selectableFields: listAt(version, 'selectableFields').map((field) => textAt(field, ['jsonPath'])),
    ...(at(version, 'deprecated') === true
      ? { deprecation: textAt(version, ['deprecationWarning'], deprecation) }
      : {}),
  };
}

const ANYTHING: JsonObject = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

function customRules(openAPIV3Schema: JsonObject): KindRules {
  const schema = compileSchema(openAPIV3Schema);
  return {
    schema,
    hasExpressions: JSON.stringify(openAPIV3Schema).includes('"x-kubernetes-validations"'),
    applyDefaults: (object) => schema.applyDefaults(object),
    prepareForCreate: (object) => object,
    validate: (object, old, subresource) => schema.validate(object, old, subresource ? { subresource } : {}),
  };
}

function scalePaths(value: unknown): ScalePaths | undefined {
  if (!isJsonObject(value)) return undefined;
  const labelSelectorPath = textAt(value, ['labelSelectorPath']);
  return {
    specReplicasPath: textAt(value, ['specReplicasPath']),
    statusReplicasPath: textAt(value, ['statusReplicasPath']),
    ...(labelSelectorPath ? { labelSelectorPath } : {}),
  };
}

function printerColumn(value: unknown): PrinterColumn {
  const priority = at(value, 'priority');
  return {
    name: textAt(value, ['name']),
    type: textAt(value, ['type']),
    format: textAt(value, ['format']),
    description: textAt(value, ['description']),
    priority: typeof priority === 'number' ? priority : 0,
    jsonPath: textAt(value, ['jsonPath']),
  };
}

const VERSION = /^v(\d+)(?:(alpha|beta)(\d+))?$/;
const STABILITY: Readonly<Record<string, number>> = { alpha: 1, beta: 2 };

/** Kubernetes' order of versions: stable before beta before alpha, newer first, other names last by alphabet. */
function byVersionPriority(left: ServedVersion, right: ServedVersion): number {
  const leftRank = rank(left.name);
  const rightRank = rank(right.name);
  if (!leftRank || !rightRank) {
    if (leftRank || rightRank) return leftRank ? -1 : 1;
    return left.name < right.name ? -1 : 1;
  }
  return (
    rightRank.stability - leftRank.stability ||
    rightRank.major - leftRank.major ||
    rightRank.minor - leftRank.minor
  );
}

function rank(name: string): { stability: number; major: number; minor: number } | undefined {
  const match = VERSION.exec(name);
  if (!match) return undefined;
  return { stability: STABILITY[match[2] ?? ''] ?? 3, major: Number(match[1]), minor: Number(match[3] ?? 0) };
}
