// Reads the OpenAPI v3 documents of a real API server and writes what the embedded one needs of them to
// libs/kube-semantics/src/schema/generated/: structure, list types, merge keys, defaults that matter, and the first
// sentence of each description. Run after test/cluster/install.sh:
//   node scripts/extract-kubernetes-openapi.mjs        (KUBE_HOME as in test/cluster)
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { call, startServer, stopServer } from './real-api-server.mjs';

const target = fileURLToPath(new URL('../libs/kube-semantics/src/schema/generated/', import.meta.url));

/** Served kinds by document; everything else is found from these through `$ref`. */
const documents = {
  'api/v1':
    'Namespace Pod Service Secret ConfigMap ServiceAccount Event Node Endpoints ResourceQuota LimitRange PodTemplate Binding Eviction TokenRequest Status APIResourceList DeleteOptions WatchEvent',
  'apis/apps/v1': 'Deployment ReplicaSet StatefulSet Scale',
  'apis/batch/v1': 'Job',
  'apis/coordination.k8s.io/v1': 'Lease',
  'apis/rbac.authorization.k8s.io/v1': 'Role ClusterRole RoleBinding ClusterRoleBinding',
  'apis/autoscaling/v2': 'HorizontalPodAutoscaler',
  'apis/policy/v1': 'PodDisruptionBudget',
  'apis/networking.k8s.io/v1': 'NetworkPolicy',
  'apis/scheduling.k8s.io/v1': 'PriorityClass',
  'apis/storage.k8s.io/v1': 'StorageClass',
  'apis/events.k8s.io/v1': 'Event',
  'apis/discovery.k8s.io/v1': 'EndpointSlice',
  'apis/apiextensions.k8s.io/v1': 'CustomResourceDefinition',
  'apis/authentication.k8s.io/v1': 'TokenReview SelfSubjectReview',
  'apis/authorization.k8s.io/v1':
    'SelfSubjectAccessReview SelfSubjectRulesReview SubjectAccessReview LocalSubjectAccessReview',
};

/** Kinds that a document shows for a subresource although their group is another. */
const foreign = new Set(['Scale', 'Eviction', 'TokenRequest']);

const kept = new Set([
  '$ref',
  'type',
  'format',
  'properties',
  'additionalProperties',
  'items',
  'required',
  'enum',
  'oneOf',
  'x-kubernetes-list-type',
  'x-kubernetes-list-map-keys',
  'x-kubernetes-map-type',
  'x-kubernetes-patch-strategy',
  'x-kubernetes-patch-merge-key',
  'x-kubernetes-int-or-string',
  'x-kubernetes-preserve-unknown-fields',
]);

function firstSentence(text) {
  const plain = text.replace(/\s+/g, ' ').trim();
  const end = plain.search(/\.(\s|$)/);
  const sentence = end < 0 ? plain : plain.slice(0, end + 1);
  return sentence.length <= 140 ? sentence : `${sentence.slice(0, 137).replace(/\s+\S*$/, '')}...`;
}

/** Go's zero values stand in the documents as defaults; only what a reader or a merge key can notice is one. */
function isMeaningfulDefault(value) {
  return typeof value === 'string' ? value !== '' : typeof value === 'boolean' ? value : false;
}

function trim(schema, kind = '') {
  if (typeof schema !== 'object' || schema === null) return schema;
  const single = schema.allOf?.length === 1 ? { ...schema, ...schema.allOf[0] } : schema;
  const out = {};
  if (typeof single.description === 'string') out.description = firstSentence(single.description);
  for (const [key, value] of Object.entries(single)) {
    if (key === 'properties') out.properties = trimProperties(single, kind);
    else if (key === 'items' || (key === 'additionalProperties' && typeof value === 'object')) {
      const { description: _, default: __, ...inner } = trim(value);
      out[key] = inner;
    } else if (key === 'default') {
      if (isMeaningfulDefault(value)) out.default = value;
    } else if (key === 'x-kubernetes-group-version-kind') {
      if (value.length === 1) out[key] = value;
    } else if (kept.has(key)) out[key] = value;
  }
  return out;
}

function trimProperties({ properties, required = [] }, kind) {
  return Object.fromEntries(
    Object.entries(properties).map(([name, property]) => {
      const known = alwaysWritten[`${kind}.${name}`];
      const zero = known === undefined ? zeroOf(name, property, required.includes(name)) : known;
      return [name, { ...trim(property), ...(zero === undefined ? {} : { 'x-zero': zero }) }];
    }),
  );
}

/** Fields that Go always writes although the documents call them optional. */
const alwaysWritten = {
  'StatefulSetStatus.availableReplicas': 0,
  'Role.rules': null,
  'ClusterRole.rules': null,
  'HorizontalPodAutoscalerStatus.currentMetrics': null,
  'CustomResourceDefinitionStatus.conditions': null,
  'Event.reportingComponent': '',
  'Event.reportingInstance': '',
};

/** Times that are no pointers in Go; the documents do not tell. */
const plainTimes =
  /^(last(Probe|Transition|Heartbeat|Update|Observed)Time|startedAt|finishedAt|eventTime|(first|last|deprecatedFirst|deprecatedLast)Timestamp)$/;

/** What Go writes for a field that nobody set; undefined when it leaves such a field out. */
function zeroOf(name, property, isRequired) {
  const reference = property.allOf?.[0]?.$ref ?? property.$ref;
  if (reference !== undefined) {
    if (/\.(Micro)?Time$/.test(reference)) return plainTimes.test(name) ? null : undefined;
    const isStruct =
      JSON.stringify(property.default) === '{}' && !/\.(Quantity|IntOrString)$/.test(reference);
    return isStruct ? {} : undefined;
  }
  if (!isRequired) return undefined;
  if (property.type === 'array' || typeof property.additionalProperties === 'object') return null;
  return ['', 0, false].includes(property.default) ? property.default : undefined;
}

function references(schema, found = new Set()) {
  if (typeof schema !== 'object' || schema === null) return found;
  if (typeof schema.$ref === 'string') found.add(schema.$ref.split('/').pop());
  for (const value of Object.values(schema)) references(value, found);
  return found;
}

const definitions = {};
const groups = {};
const port = await startServer();
for (const [path, kinds] of Object.entries(documents)) {
  const { body } = await call(port, 'GET', `/openapi/v3/${path}`);
  const schemas = body.components.schemas;
  const [, group, version] = path === 'api/v1' ? ['', '', 'v1'] : path.split('/');
  const wanted = [];
  for (const kind of kinds.split(' ')) {
    const name = Object.keys(schemas).find((candidate) => {
      const ids = schemas[candidate]['x-kubernetes-group-version-kind'] ?? [];
      return ids.some((id) => id.kind === kind && (id.group === group || foreign.has(kind)));
    });
    if (name === undefined) throw new Error(`${path} has no ${kind}`);
    wanted.push(name);
    const list = Object.keys(schemas).find((candidate) => candidate === `${name}List`);
    if (list !== undefined) wanted.push(list);
  }
  groups[group === '' ? version : `${group}/${version}`] = [...wanted].sort();
  for (let at = 0; at < wanted.length; at++) {
    const name = wanted[at];
    if (definitions[name] !== undefined) continue;
    definitions[name] = trim(schemas[name], name.split('.').pop());
    wanted.push(...references(definitions[name]));
  }
}
await stopServer();

const sorted = Object.fromEntries(Object.entries(definitions).sort(([a], [b]) => (a < b ? -1 : 1)));
const lines = Object.entries(sorted).map(
  ([name, schema]) => `  ${JSON.stringify(name)}: ${JSON.stringify(schema)},`,
);
mkdirSync(target, { recursive: true });
writeFileSync(
  join(target, 'definitions.ts'),
  [
    '// Made by scripts/extract-kubernetes-openapi.mjs from the OpenAPI documents of Kubernetes (Apache-2.0). Do not edit.',
    'type Schema = Readonly<Record<string, unknown>>;',
    '',
    '/** Schemas of the built-in kinds and of what they refer to, by the names of Kubernetes. */',
    'export const definitions: Readonly<Record<string, Schema>> = {',
    ...lines,
    '};',
    '',
    '/** Top-level schemas of each group and version. */',
    `export const groups: Readonly<Record<string, readonly string[]>> = ${JSON.stringify(groups)};`,
    '',
  ].join('\n'),
);
console.log(`${lines.length} definitions, ${lines.join('').length} characters`);
