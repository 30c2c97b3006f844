export {
  CONFIG_MAPS,
  EVENTS,
  NAMESPACES,
  PERSISTENT_VOLUME_CLAIMS,
  SECRETS,
  SERVICE_ACCOUNTS,
  SERVICES,
  type ConfigMap,
  type KubeEvent,
  type Namespace,
  type ObjectReference,
  type PersistentVolumeClaim,
  type Secret,
  type Service,
  type ServiceAccount,
} from './built-in/core.js';
export { CUSTOM_RESOURCE_DEFINITIONS, type CustomResourceDefinition } from './built-in/crd.js';
export { LEASES, type Lease } from './built-in/lease.js';
export { namedByPodSpec, pullSecretsOf } from './built-in/named-by-pod-spec.js';
export { NETWORK_POLICIES, type NetworkPolicy, type NetworkPolicyPeer } from './built-in/network.js';
export {
  NODES,
  CPU_LIMITS_KEPT,
  nodeWarnings,
  PODS_RUN_AS_ROOT,
  PODS_SHARE_USER,
  SHARED_USER_MESSAGE,
  PROCESS_RUNTIME,
  PROCESS_RUNTIME_TAINT,
  selectsProcessRuntime,
  type Node,
  type NodeCondition,
  type Taint,
} from './built-in/node.js';
export {
  PODS,
  type ContainerPort,
  type ContainerState,
  type ContainerStatus,
  type EnvironmentSource,
  type EnvironmentVariable,
  type Pod,
  type PodCondition,
  type PodContainer,
  type PodResources,
  type PodSpec,
  type PodStatus,
  type PodTemplate,
  type Probe,
  type Toleration,
} from './built-in/pod.js';
export {
  CLUSTER_ROLE_BINDINGS,
  CLUSTER_ROLES,
  type ClusterRole,
  ROLE_BINDINGS,
  ROLES,
  type PolicyRule,
  type Role,
  type RoleBinding,
} from './built-in/rbac.js';
export { POD_DISRUPTION_BUDGETS, type PodDisruptionBudget } from './built-in/disruption.js';
export {
  DEPLOYMENTS,
  HORIZONTAL_POD_AUTOSCALERS,
  JOBS,
  REPLICA_SETS,
  STATEFUL_SETS,
  type Deployment,
  type DeploymentSpec,
  type DeploymentStatus,
  type HorizontalPodAutoscaler,
  type Job,
  type JobSpec,
  type JobStatus,
  type LabelSelector,
  type ReplicaSet,
  type ReplicaSetStatus,
  type StatefulSet,
  type WorkloadCondition,
} from './built-in/workload.js';
export { CONDITION, POD_SCHEDULED, POD_SUPPORTED, REASON } from './condition-type.js';
export {
  findCondition,
  isConditionTrue,
  isPodReady,
  setCondition,
  updateConditions,
  type ConditionDraft,
  type ConditionDrafts,
} from './condition.js';
export { dnsLabel } from './dns-label.js';
export { EVENT } from './event-reason.js';
export type {
  AgentDeployment,
  AgentDeploymentSpec,
  AgentDeploymentStatus,
} from './generated/agent-deployment.js';
export type { AgentRevision, AgentRevisionSpec, AgentRevisionStatus } from './generated/agent-revision.js';
export type {
  BulkExportDestination,
  BulkExportDestinationSpec,
  BulkExportDestinationStatus,
} from './generated/bulk-export-destination.js';
export type { BulkExportRun, BulkExportRunSpec, BulkExportRunStatus } from './generated/bulk-export-run.js';
export type { BulkExport, BulkExportSpec, BulkExportStatus } from './generated/bulk-export.js';
export type { Listener, ListenerSpec, ListenerStatus } from './generated/listener.js';
export { API_VERSION, RESOURCES } from './generated/resource-table.js';
export type {
  ArchiveSource,
  GitSource,
  AgentPlacement,
  Condition,
  Container,
  DestinationConfig,
  EnvVar,
  ListenerConfig,
  ListenerReport,
  LocalObjectReference,
  ResourceRequirements,
  ResourceSpec,
  RevisionRequest,
  RunCounts,
  RunDestination,
  SourceConfig,
  SourceRevisionConfig,
  TracingProjectReference,
  Volume,
  VolumeMount,
  WebhookDelivery,
  WorkspaceLimits,
} from './generated/shared.js';
export type { Workspace, WorkspaceSpec, WorkspaceStatus } from './generated/workspace.js';
export { fulfilsSelector } from './fulfils-selector.js';
export { isDeleting, type KubeObject } from './kube-object.js';
export { digestIdleToken } from './idle-token-digest.js';
export { BUILD_LOGIN_TYPE, LISTENER_KEY_TYPE, SECRET_TYPE, WEBHOOK_SECRET_KEY } from './secret-type.js';
export {
  ANNOTATION,
  COMPONENT,
  FIELD_MANAGER,
  FINALIZER,
  LABEL,
  MANAGED_BY,
  PLATFORM_PREFIX,
} from './label.js';
export { MAX_LISTENERS } from './max-listeners.js';
export { keyOf, keyText, parseKey, type ObjectKey } from './object-key.js';
export {
  databaseSecretName,
  databaseServerName,
  DEFAULT_LISTENER,
  deploymentSecretNames,
  exportJobName,
  exportRunName,
  listenerKeyName,
  listenerLeaseName,
  listenerObjectName,
  platformSecretName,
  revisionBuildName,
  revisionEnvSecretName,
  revisionName,
  revisionOutputName,
  workspaceNamespace,
} from './object-name.js';
export type { ObjectMeta, OwnerReference } from './object-meta.js';
export { isDangerousEnvironment } from './dangerous-environment.js';
export { isReservedEnvironment } from './reserved-environment.js';
export { idOf } from './resource-id.js';
export { apiVersionOf, OMIT_MANAGED_FIELDS, type ResourceRef } from './resource-ref.js';
export {
  deploymentState,
  exportRunState,
  exportState,
  resourceState,
  revisionState,
  type ShownState,
  type Tone,
} from './shown-state.js';
export { exportStatusReason, statusReason, type StatusReason } from './status-reason.js';
export {
  deploymentWireStatus,
  exportRunWireStatus,
  exportWireStatus,
  isFinishedExport,
  isRolledBack,
  revisionWireStatus,
  type DeploymentWireStatus,
  type ExportWireStatus,
  type RevisionWireStatus,
} from './wire-status.js';
export { formatSleepNote, isWakeAsked, type SleepNote, sleepNoteOf } from './sleep-note.js';
export { isUuid, UUID_PATTERN } from './uuid.js';
export {
  formerCredentials,
  formerCredentialsText,
  withFormerCredentials,
  type FormerCredentials,
} from './former-credentials.js';
