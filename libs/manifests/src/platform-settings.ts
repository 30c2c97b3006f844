import type { AddressMode } from './address-mode.js';
import type { PodPlacement } from './pod-placement.js';

/** What manifests know of their home: configuration, never a question asked of the cluster. */
export interface PlatformSettings {
  /** Version of the platform. */
  readonly version: string;
  /** Tag of its images; the version when absent. */
  readonly imageTag?: string | undefined;
  /** Names of Secrets with keys of registries, in every namespace that pods of the platform are in. */
  readonly imagePullSecrets?: readonly string[];
  /** Secret with which pods of agents that were built from git fetch their images. */
  readonly buildPullSecret?: string | undefined;
  /** Whether pods of agents must not run as root; images that do are then refused by the node. Default false. */
  readonly agentsNonRoot?: boolean;
  /** Of listeners and export workers. */
  readonly pods?: PodPlacement;
  /** Where agents send traces and verify keys, no slash at its end. */
  readonly apiUrl: string;
  readonly addresses: AddressMode;
  /** Put before `agentplane/APP:VERSION`, for example `registry.example/`; empty on one machine. */
  readonly imagePrefix?: string;
  /** Whether destinations of exports may lead into private networks and to this machine. Default false. */
  readonly allowPrivateEndpoints?: boolean;
  /** Variables of export workers that bound their files; none for their own defaults. */
  readonly exportFiles?: Readonly<Record<string, string>>;
  /** Account of the pods of export workers, which must exist in their namespace; `default` when absent. */
  readonly exportServiceAccount?: string | undefined;
  /** Certificates (PEM) that programs and agents trust besides public ones; of the controller. */
  readonly trustedCa?: string | undefined;
  /** Of a listener: tokens are derived from it by which it asks pods whether they are idle. */
  readonly idleKey?: string;
  /** Variables of OpenTelemetry for the platform's pods, without secrets; none when nothing is traced. */
  readonly tracing?: Readonly<Record<string, string>>;
}

/** Reference of a platform image. */
export function platformImage(app: string, settings: PlatformSettings): string {
  return `${settings.imagePrefix ?? ''}agentplane/${app}:${settings.imageTag ?? settings.version}`;
}
