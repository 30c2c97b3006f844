import type { EventRecorder, KubeClient } from '#lib/kube';
import type { AgentDefaults, AgentVolume } from '#lib/manifests';
import type { Clock } from '#lib/time';
import type { DeploymentProvisioning } from './provision.js';
import type { RevisionArchiver } from './revision-archiver.js';

/** Dependencies of the reconciler. */
export interface DeploymentTools {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly events: Pick<EventRecorder, 'record'>;
  readonly provisioning: DeploymentProvisioning;
  readonly archiver: Pick<RevisionArchiver, 'store' | 'forget'>;
  /** Names of Secrets with logins of registries, which nodes use to pull images. */
  readonly registrySecrets: readonly string[];
  /** Kinds of volumes that agents may have beside those that need no storage. */
  readonly agentVolumes: readonly AgentVolume[];
  /** Placement and memory limit of pods of agents, unless a resource spec or the Workspace sets them. */
  readonly agentDefaults: AgentDefaults;
}
