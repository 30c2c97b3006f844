import type { AddressMode, PodPlacement } from './pod-placement.js';

/** Kinds of volumes that lead out of a pod's namespace, as far as storage goes. */
export const AGENT_VOLUMES = ['persistentVolumeClaim', 'nfs', 'csi'] as const;

export type AgentVolume = (typeof AGENT_VOLUMES)[number];

/**
 * Kinds separated by commas, or `none`.
 * @throws Error when one is another
 */
export function parseAgentVolumes(text: string): readonly AgentVolume[] {
  if (text === 'none') return [];
  return text.split(',').map((name) => {
    const kind = AGENT_VOLUMES.find((one) => one === name);
    if (kind === undefined)
      throw new Error(
        `must be none, or of ${AGENT_VOLUMES.join(', ')}, separated by commas, but has ${JSON.stringify(name)}`,
      );
    return kind;
  });
}

/** Settings of the installation that manifests depend on: configuration, never a request to the cluster. */
export interface PlatformSettings {
  /** Version of the platform. */
  readonly version: string;
  /** Tag of its images; the version when absent. */
  readonly imageTag?: string | undefined;
  /** Names of Secrets with keys of registries, in every namespace that pods of the platform are in. */
  readonly imagePullSecrets?: readonly string[];
  /** Secret with which pods of agents that were built from git fetch their images. */
  readonly buildPullSecret?: string | undefined;
  /**
   * True when pods of agents must not run as root; images that do are then refused by the node. Default
   * false.
   */
  readonly agentsNonRoot?: boolean;
  /** Placement of listeners and export workers. */
  readonly pods?: PodPlacement;
  /** URL to which agents send traces and where they verify keys, without a slash at its end. */
  readonly apiUrl: string;
  readonly addresses: AddressMode;
  /** Put before `agentplane/APP:VERSION`, for example `registry.example/`; empty on one machine. */
  readonly imagePrefix?: string;
  /** True when destinations of exports may lead into private networks and to this machine. Default false. */
  readonly allowPrivateEndpoints?: boolean;
  /** Variables of export workers that bound their files; none for their own defaults. */
  readonly exportFiles?: Readonly<Record<string, string>>;
  /** Variables by which workers open the lake, without the keys of its store; absent: there is none. */
  readonly lake?: Readonly<Record<string, string>> | undefined;
  /** Account of the pods of export workers, which must exist in their namespace; `default` when absent. */
  readonly exportServiceAccount?: string | undefined;
  /** Certificates (PEM) that programs and agents trust besides public ones; of the controller. */
  readonly trustedCa?: string | undefined;
  /** Key of a listener: from it the tokens are derived with which it asks pods if they are idle. */
  readonly idleKey?: string;
  /** Variables of OpenTelemetry for the platform's pods, without secrets; none when nothing is traced. */
  readonly tracing?: Readonly<Record<string, string>>;
}

/** Reference of a platform image. */
export function platformImage(app: string, settings: PlatformSettings): string {
  return `${settings.imagePrefix ?? ''}agentplane/${app}:${settings.imageTag ?? settings.version}`;
}
