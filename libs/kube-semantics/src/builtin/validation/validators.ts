import { validateCustomResourceDefinition } from '../../custom-resource/custom-resource-definition.js';
import {
  validateClusterRole,
  validateClusterRoleBinding,
  validateRole,
  validateRoleBinding,
} from './access.js';
import {
  validateDisruptionBudget,
  validateLimitRange,
  validateNetworkPolicy,
  validatePriorityClass,
  validateResourceQuota,
  validateStorageClass,
} from './cluster-policies.js';
import {
  validateEndpointSlice,
  validateEvent,
  validateHorizontalPodAutoscaler,
  validateLease,
} from './coordination.js';
import { validateConfigMap, validateSecret } from './data.js';
import { validateService } from './service.js';
import type { Validator } from './validator.js';
import {
  validateDeployment,
  validateJob,
  validatePod,
  validatePodTemplate,
  validateReplicaSet,
  validateStatefulSet,
} from './workloads.js';

/** The rules of the built-in kinds; kinds without any are not in it. */
export const validators: Readonly<Record<string, Validator>> = {
  Pod: validatePod,
  Service: validateService,
  Secret: validateSecret,
  ConfigMap: validateConfigMap,
  Event: validateEvent,
  Deployment: validateDeployment,
  ReplicaSet: validateReplicaSet,
  StatefulSet: validateStatefulSet,
  Job: validateJob,
  Lease: validateLease,
  Role: validateRole,
  ClusterRole: validateClusterRole,
  RoleBinding: validateRoleBinding,
  ClusterRoleBinding: validateClusterRoleBinding,
  HorizontalPodAutoscaler: validateHorizontalPodAutoscaler,
  EndpointSlice: validateEndpointSlice,
  PodTemplate: validatePodTemplate,
  PodDisruptionBudget: validateDisruptionBudget,
  NetworkPolicy: validateNetworkPolicy,
  ResourceQuota: validateResourceQuota,
  LimitRange: validateLimitRange,
  PriorityClass: validatePriorityClass,
  StorageClass: validateStorageClass,
  CustomResourceDefinition: validateCustomResourceDefinition,
};
