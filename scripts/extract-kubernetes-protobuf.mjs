// Reads Kubernetes' Go types (k8s.io/api and k8s.io/apimachinery in the Go module cache, there after
// test/cluster/install.sh) and writes the tables by which the embedded server decodes the protobuf bodies of kubectl to
// libs/kube-semantics/src/protobuf/generated/messages.ts.
//   node scripts/extract-kubernetes-protobuf.mjs
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const version = 'v0.34.4';
const cache = execFileSync('go', ['env', 'GOMODCACHE']).toString().trim();
const target = fileURLToPath(new URL('../libs/kube-semantics/src/protobuf/generated/', import.meta.url));

const packages = {
  core: [`api@${version}/core/v1/types.go`],
  apps: [`api@${version}/apps/v1/types.go`],
  batch: [`api@${version}/batch/v1/types.go`],
  rbac: [`api@${version}/rbac/v1/types.go`],
  authentication: [`api@${version}/authentication/v1/types.go`],
  authorization: [`api@${version}/authorization/v1/types.go`],
  policy: [`api@${version}/policy/v1/types.go`],
  coordination: [`api@${version}/coordination/v1/types.go`],
  autoscaling: [`api@${version}/autoscaling/v1/types.go`],
  autoscalingv2: [`api@${version}/autoscaling/v2/types.go`],
  networking: [`api@${version}/networking/v1/types.go`],
  scheduling: [`api@${version}/scheduling/v1/types.go`],
  storage: [`api@${version}/storage/v1/types.go`],
  events: [`api@${version}/events/v1/types.go`],
  apiextensions: ['types', 'types_jsonschema'].map(
    (file) => `apiextensions-apiserver@${version}/pkg/apis/apiextensions/v1/${file}.go`,
  ),
  meta: [`apimachinery@${version}/pkg/apis/meta/v1/types.go`],
};

/** apiVersion and kind of the bodies that are understood. */
const roots = {
  'v1 Namespace': 'core.Namespace',
  'v1 Pod': 'core.Pod',
  'v1 Service': 'core.Service',
  'v1 Secret': 'core.Secret',
  'v1 ConfigMap': 'core.ConfigMap',
  'v1 ServiceAccount': 'core.ServiceAccount',
  'v1 Event': 'core.Event',
  'v1 Node': 'core.Node',
  'v1 Endpoints': 'core.Endpoints',
  'v1 Binding': 'core.Binding',
  'v1 DeleteOptions': 'meta.DeleteOptions',
  'meta.k8s.io/v1 DeleteOptions': 'meta.DeleteOptions',
  'apps/v1 Deployment': 'apps.Deployment',
  'apps/v1 ReplicaSet': 'apps.ReplicaSet',
  'apps/v1 StatefulSet': 'apps.StatefulSet',
  'batch/v1 Job': 'batch.Job',
  'coordination.k8s.io/v1 Lease': 'coordination.Lease',
  'rbac.authorization.k8s.io/v1 Role': 'rbac.Role',
  'rbac.authorization.k8s.io/v1 ClusterRole': 'rbac.ClusterRole',
  'rbac.authorization.k8s.io/v1 RoleBinding': 'rbac.RoleBinding',
  'rbac.authorization.k8s.io/v1 ClusterRoleBinding': 'rbac.ClusterRoleBinding',
  'authentication.k8s.io/v1 TokenRequest': 'authentication.TokenRequest',
  'authentication.k8s.io/v1 TokenReview': 'authentication.TokenReview',
  'authentication.k8s.io/v1 SelfSubjectReview': 'authentication.SelfSubjectReview',
  'authorization.k8s.io/v1 SelfSubjectAccessReview': 'authorization.SelfSubjectAccessReview',
  'authorization.k8s.io/v1 SelfSubjectRulesReview': 'authorization.SelfSubjectRulesReview',
  'authorization.k8s.io/v1 SubjectAccessReview': 'authorization.SubjectAccessReview',
  'authorization.k8s.io/v1 LocalSubjectAccessReview': 'authorization.LocalSubjectAccessReview',
  'policy/v1 Eviction': 'policy.Eviction',
  'autoscaling/v1 Scale': 'autoscaling.Scale',
  'autoscaling/v2 HorizontalPodAutoscaler': 'autoscalingv2.HorizontalPodAutoscaler',
  'v1 ResourceQuota': 'core.ResourceQuota',
  'v1 LimitRange': 'core.LimitRange',
  'v1 PodTemplate': 'core.PodTemplate',
  'policy/v1 PodDisruptionBudget': 'policy.PodDisruptionBudget',
  'networking.k8s.io/v1 NetworkPolicy': 'networking.NetworkPolicy',
  'scheduling.k8s.io/v1 PriorityClass': 'scheduling.PriorityClass',
  'storage.k8s.io/v1 StorageClass': 'storage.StorageClass',
  'events.k8s.io/v1 Event': 'events.Event',
  'apiextensions.k8s.io/v1 CustomResourceDefinition': 'apiextensions.CustomResourceDefinition',
};

const scalars = {
  string: 'string',
  bool: 'bool',
  int32: 'int',
  int64: 'int',
  uint32: 'int',
  uint64: 'int',
  int: 'int',
  float64: 'double',
  '[]byte': 'bytes',
};
/** Types with an encoding of their own. */
const special = {
  'meta.Time': 'time',
  'meta.MicroTime': 'microtime',
  'meta.FieldsV1': 'json',
  'runtime.RawExtension': 'json',
  'apiextensions.JSON': 'json',
  'resource.Quantity': 'quantity',
  'intstr.IntOrString': 'intOrString',
};
const imports = {
  v1: undefined,
  metav1: 'meta',
  corev1: 'core',
  apiv1: 'core',
  resource: 'resource',
  intstr: 'intstr',
  runtime: 'runtime',
  types: 'types',
  rbacv1: 'rbac',
};

/** Messages that are in JSON the value of the one field that is set; the last one wins. */
const unions = {
  'apiextensions.JSONSchemaPropsOrArray': [
    [1, '', 'apiextensions.JSONSchemaProps', 'k'],
    [2, '', 'apiextensions.JSONSchemaProps', 'r'],
  ],
  'apiextensions.JSONSchemaPropsOrBool': [
    [1, '', 'bool', 'k'],
    [2, '', 'apiextensions.JSONSchemaProps', 'k'],
  ],
  'apiextensions.JSONSchemaPropsOrStringArray': [
    [1, '', 'apiextensions.JSONSchemaProps', 'k'],
    [2, '', 'string', 'r'],
  ],
};

const structs = {};
const aliases = { 'types.UID': 'string', 'types.NodeName': 'string' };
for (const [name, files] of Object.entries(packages)) {
  for (const file of files) {
    const source = readFileSync(join(cache, 'k8s.io', file), 'utf8');
    for (const [, type, to] of source.matchAll(
      /^type (\w+) (string|int32|int64|bool|map\[\S+\]\S+|\[\]\S+)\s*$/gm,
    )) {
      aliases[`${name}.${type}`] = { of: to, package: name };
    }
    for (const [, type, body] of source.matchAll(/^type (\w+) struct ?\{(?:\}|\n([\s\S]*?)^\})/gm)) {
      structs[`${name}.${type}`] = body ?? '';
    }
  }
}

function resolve(type, packageName) {
  const [prefix, local] = type.includes('.') ? type.split('.') : [undefined, type];
  if (prefix === undefined && scalars[type]) return scalars[type];
  const owner =
    prefix === undefined
      ? packageName
      : prefix === 'v1'
        ? packageName === 'core' || packageName === 'meta'
          ? 'meta'
          : 'core'
        : (imports[prefix] ?? prefix);
  const full = `${owner}.${local}`;
  if (special[full]) return special[full];
  const alias = aliases[full];
  if (typeof alias === 'string') return alias;
  if (full === 'core.ResourceList') return { map: 'quantity' };
  if (full === 'authentication.ExtraValue' || full === 'authorization.ExtraValue') return 'items';
  if (alias !== undefined) return resolve(alias.of, alias.package);
  return full;
}

const fieldLine = /^\s*(?:(\w+)\s+)?(\S+)\s+`[^`]*?json:"([^"]*)"[^`]*?protobuf:"([^"]*)"[^`]*`/;

/** What an alias of the package itself names, when that is a list of messages or a map of them. */
function listOrMap(name) {
  const of = aliases[name]?.of;
  return name.startsWith('apiextensions.') && /^(\[\]|map)/.test(of) ? of : undefined;
}

function fieldsOf(type) {
  if (unions[type] !== undefined) return unions[type];
  const packageName = type.split('.')[0];
  const fields = [];
  for (const line of structs[type].split('\n')) {
    const found = fieldLine.exec(line);
    if (found === null) continue;
    const [, , goType, json, tag] = found;
    const number = Number(tag.split(',')[1]);
    const [name, ...options] = json.split(',');
    const isPointer = goType.startsWith('*');
    const pointed = goType.replace(/^\*/, '');
    const bare = listOrMap(`${packageName}.${pointed}`) ?? pointed;
    const flags = [];
    let resolved;
    const map = /^map\[\S+?\](\S+)$/.exec(bare);
    if (bare === '[]byte') resolved = 'bytes';
    else if (map) resolved = { map: map[1] === '[]byte' ? 'bytes' : resolve(map[1], packageName) };
    else if (bare.startsWith('[]')) {
      flags.push('r');
      resolved = resolve(bare.slice(2), packageName);
    } else resolved = resolve(bare, packageName);
    if (typeof resolved === 'object') resolved = `map:${resolved.map}`;
    if (options.includes('inline')) flags.push('i');
    if (isPointer || !options.includes('omitempty')) flags.push('k');
    fields.push([number, name, resolved, flags.join('')]);
  }
  return fields;
}

const messages = {};
const queue = Object.values(roots);
for (const type of queue) {
  if (messages[type] !== undefined) continue;
  if (structs[type] === undefined && unions[type] === undefined) throw new Error(`no Go type ${type}`);
  messages[type] = fieldsOf(type);
  for (const [, , of] of messages[type]) {
    const message = of.replace(/^map:/, '');
    if (message.includes('.')) queue.push(message);
  }
}
const lines = Object.entries(messages)
  .sort(([a], [b]) => (a < b ? -1 : 1))
  .map(([name, fields]) => `  ${JSON.stringify(name)}: ${JSON.stringify(fields)},`);
mkdirSync(target, { recursive: true });
writeFileSync(
  join(target, 'messages.ts'),
  [
    '// Made by scripts/extract-kubernetes-protobuf.mjs from the Go types of Kubernetes (Apache-2.0). Do not edit.',
    '',
    '/** Number, JSON name, type, flags: `r` repeated, `i` inlined into its parent, `k` kept even when zero. */',
    'export type MessageField = readonly [number, string, string, string];',
    '',
    'export const messages: Readonly<Record<string, readonly MessageField[]>> = {',
    ...lines,
    '};',
    '',
    '/** The message of each `apiVersion kind`. */',
    `export const roots: Readonly<Record<string, string>> = ${JSON.stringify(roots, undefined, 2)};`,
    '',
  ].join('\n'),
);
console.log(`${lines.length} messages, ${lines.join('').length} characters`);
