export { customHostOf, isBelow, mayBeAssigned, routeHostOf, type RouteDomains } from './route-host.js';
export { addressOf, mayBeAddressOf, podAddressOf } from './address-of.js';
export {
  buildDatabaseSecret,
  buildPlatformSecret,
  buildRevisionEnvSecret,
  DATABASE_KEY,
  PLATFORM_KEY,
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
} from './database-server.js';
export { AGENT_VOLUMES, type AgentVolume, parseAgentVolumes } from './agent-volumes.js';
export { findBaselineViolation } from './baseline-violation.js';
export {
  parsePodSecurityLevel,
  POD_SECURITY_LABEL,
  type PodSecurityLevel,
  podSecurityOf,
} from './pod-security-level.js';
export { isClaimName, isSecretName, type NamedByPlatform } from './platform-object-name.js';
export { MAX_NAMED_SECRETS, type RefusedObject, refusedObjectText } from './refused-object.js';
export { isReservedClaimName, isReservedSecretName } from './reserved-secret-name.js';
export { buildServerPolicy } from './database-server-policy.js';
export { buildDisruptionBudget } from './disruption-budget.js';
export { buildExportJob, buildExportSecret, type ExportAttempt } from './export-attempt.js';
export { type DatabaseChoice, type FieldSurroundings, ignoredFields, ignoredText } from './ignored-fields.js';
export { scaledRevision, withScaleOf } from './scaled-revision.js';
export { AGENT_POLICY, buildAgentPolicy, type EgressRules, parseEgressRules } from './agent-policy.js';
export { CA_KEY } from './trusted-ca.js';
export { idleToken } from './idle-token.js';
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
export type { AddressMode } from './address-mode.js';
export type { PlatformSettings } from './platform-settings.js';
export {
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
export { buildApiBindings } from './api-bindings.js';
export { type AgentDefaults, parseAgentPlacement, parsePodPlacement } from './pod-placement.js';
export { buildRevisionOutput, type ContainerOutput } from './revision-output.js';
export { gitBuildPlace, type ImageRegistry, imageRepository, revisionOfBuild } from './git-build-place.js';
export { awaitedSource, buildInput, DEFAULT_GRAPH_CONFIG, isBuiltSource } from './deployment-source.js';
export { buildGitJob, buildGitOutput, buildGitSecret, type GitBuild, type GitLogin } from './git-build.js';
export {
  formatGitIntegration,
  GIT_INTEGRATIONS,
  type GitIntegration,
  parseGitIntegration,
} from './git-integrations.js';
export { wantedResourceSpec } from './deployment-types.js';
