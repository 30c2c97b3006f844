export { addressOf, type Addressable } from './address-of.js';
export {
  buildDatabaseSecret,
  buildPlatformSecret,
  buildRevisionEnvSecret,
  DATABASE_KEY,
  PLATFORM_KEY,
} from './deployment-secrets.js';
export { buildDeploymentService } from './deployment-service.js';
export {
  buildExportJob,
  buildExportSecret,
  type ExportAttempt,
  type ExportCredentials,
} from './export-attempt.js';
export { buildListenerObjects, type ListenerObjects } from './listener-objects.js';
export { platformImage, type AddressMode, type PlatformSettings } from './platform-settings.js';
export { podResources, type WantedResources } from './pod-resources.js';
export {
  AGENT_CONTAINER,
  AGENT_PORT,
  buildRevisionDeployment,
  revisionLabels,
  wantedReplicas,
} from './revision-workload.js';
