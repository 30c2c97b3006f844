export {
  customHostOf,
  isBelow,
  mayBeAssigned,
  routeHostOf,
  type RouteDomains,
  addressOf,
  mayBeAddressOf,
  podAddressOf,
} from './address-of.js';
export {
  buildDatabaseSecret,
  buildPlatformSecret,
  buildRevisionEnvSecret,
  DATABASE_KEY,
  PLATFORM_KEY,
  CA_KEY,
} from './deployment-secrets.js';
export { buildDeploymentService, type RequestHolder } from './deployment-service.js';
export {
  buildServerClaim,
  buildServerSecret,
  buildServerService,
  buildServerStatefulSet,
  type DatabaseServerSettings,
  databaseServerUri,
  SERVER_PASSWORD_KEY,
  wantsDatabaseServer,
  buildServerPolicy,
  wantedResourceSpec,
} from './database-server.js';
export { AGENT_VOLUMES, type AgentVolume, parseAgentVolumes } from './platform-settings.js';
export {
  findBaselineViolation,
  parsePodSecurityLevel,
  POD_SECURITY_LABEL,
  type PodSecurityLevel,
  podSecurityOf,
} from './baseline-violation.js';
export {
  isClaimName,
  isSecretName,
  type NamedByPlatform,
  MAX_NAMED_SECRETS,
  type RefusedObject,
  refusedObjectText,
  isReservedClaimName,
  isReservedSecretName,
  formatGitIntegration,
  GIT_INTEGRATIONS,
  type GitIntegration,
  parseGitIntegration,
} from './reserved-secret-name.js';
export {
  buildDisruptionBudget,
  AGENT_POLICY,
  buildAgentPolicy,
  type EgressRules,
  parseEgressRules,
  buildProgramBindings,
  CONTROLLER_SECRETS,
} from './agent-policy.js';
export { buildExportJob, buildExportSecret, type ExportAttempt } from './export-attempt.js';
export { buildSealJob, buildSealSecret, SEAL_JOB } from './worker-job.js';
export { type DatabaseChoice, type FieldSurroundings, ignoredFields, ignoredText } from './ignored-fields.js';
export {
  scaledRevision,
  withScaleOf,
  idleToken,
  AGENT_CONTAINER,
  agentSelector,
  buildQueueDeployment,
  buildRevisionDeployment,
  maySleep,
  queueName,
  revisionLabels,
  podsThatConnect,
  type PodRange,
  queueRange,
  wantedConnections,
  wantedQueueReplicas,
  answeringRange,
  isAnsweringScaled,
  wantedReplicas,
  type WorkloadReplicas,
} from './revision-workload.js';
export {
  buildListenerKey,
  buildListenerLease,
  buildListenerObjects,
  buildListenerRights,
  LISTENER_KEY,
  type ListenerRights,
} from './listener-objects.js';
export {
  buildHubKubeconfig,
  buildRemoteListener,
  type HubAccess,
  placeNamespaces,
  runNamespaces,
} from './remote-listener.js';
export type { AddressMode } from './pod-placement.js';
export type { PlatformSettings } from './platform-settings.js';
export { type AgentDefaults, parseAgentPlacement, parsePodPlacement } from './pod-placement.js';
export {
  buildRevisionOutput,
  type ContainerOutput,
  buildGitJob,
  buildGitOutput,
  buildGitSecret,
  type GitBuild,
  type GitLogin,
} from './git-build.js';
export { gitBuildPlace, type ImageRegistry, imageRepository, revisionOfBuild } from './git-build-pod.js';
export { awaitedSource, buildInput, DEFAULT_GRAPH_CONFIG, isBuiltSource } from './deployment-source.js';
