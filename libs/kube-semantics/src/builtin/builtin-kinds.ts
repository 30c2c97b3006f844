import { canonical } from '../schema/canonical.js';
import { knownDefinition, objectMetaSchema } from '../schema/known-definitions.js';
import type { BuiltinKind } from './builtin-kind.js';
import { compileBuiltin } from './compile-builtin.js';
import {
  customResourceDefinition,
  endpoints,
  endpointSlice,
  horizontalPodAutoscaler,
  limitRange,
  namespace,
  networkPolicy,
  node,
  prepareCustomResourceDefinition,
  prepareNamespace,
  priorityClass,
  resourceQuota,
  roleBinding,
  secret,
  service,
  storageClass,
} from './defaults/core.js';
import type { Fill } from './defaults/fill.js';
import { pod, podTemplate, preparePod } from './defaults/pod.js';
import { deployment, job, prepareJob, replicaSet, statefulSet } from './defaults/workloads.js';
import { type KindNames, kindNames } from './kind-names.js';
import { validators } from './validation/validators.js';

const fills: Readonly<Record<string, Fill>> = {
  Namespace: namespace,
  Pod: pod,
  Service: service,
  Secret: secret,
  Node: node,
  Endpoints: endpoints,
  Deployment: deployment,
  ReplicaSet: replicaSet,
  StatefulSet: statefulSet,
  Job: job,
  RoleBinding: roleBinding,
  ClusterRoleBinding: roleBinding,
  HorizontalPodAutoscaler: horizontalPodAutoscaler,
  EndpointSlice: endpointSlice,
  PodTemplate: podTemplate,
  NetworkPolicy: networkPolicy,
  ResourceQuota: resourceQuota,
  LimitRange: limitRange,
  PriorityClass: priorityClass,
  StorageClass: storageClass,
  CustomResourceDefinition: customResourceDefinition,
};

const preparations: Readonly<Record<string, Fill>> = {
  Namespace: prepareNamespace,
  Pod: preparePod,
  Job: prepareJob,
  CustomResourceDefinition: prepareCustomResourceDefinition,
};

const same: Fill = (object) => object;

function build(names: KindNames): BuiltinKind {
  const root = knownDefinition(names.definition);
  if (root === undefined)
    throw new Error(`The generated definitions have no ${names.definition}; extract them again.`);
  const schema = compileBuiltin(root, objectMetaSchema());
  const fill = fills[names.kind] ?? same;
  const prepare = preparations[names.kind] ?? same;
  const check = validators[names.kind];
  return {
    ...names,
    listKind: `${names.kind}List`,
    schema,
    applyDefaults: (object) =>
      canonical(fill(canonical(schema.applyDefaults(object), root)), root) as typeof object,
    prepareForCreate: (object) => prepare(object) as typeof object,
    validate: (object, old) => {
      const types = schema.validate(object);
      return types.length > 0 ? types : (check?.(object, old) ?? []);
    },
  };
}

/** Every kind that the server brings by itself. Reviews are answered, not stored, and are not among them. */
export const builtinKinds: readonly BuiltinKind[] = kindNames.map(build);
