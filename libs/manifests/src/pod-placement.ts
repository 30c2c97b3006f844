import type { PodSpec, Toleration } from '#lib/resources';
import type { AddressMode } from './address-mode.js';
import { runtimePlacement } from './runtime-placement.js';

/** What the operator of a cluster asks of all pods of the platform's own programs, agents not included. */
export interface PodPlacement {
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly tolerations?: readonly Toleration[];
  readonly affinity?: object;
  readonly priorityClassName?: string;
}

const KINDS: Readonly<Record<keyof PodPlacement, (value: unknown) => boolean>> = {
  labels: isRecord,
  annotations: isRecord,
  nodeSelector: isRecord,
  tolerations: Array.isArray,
  affinity: isRecord,
  priorityClassName: (value) => typeof value === 'string',
};

/** From JSON; what is empty is left out, and the API server judges the rest. @throws Error whose message completes "NAME …" */
export function parsePodPlacement(text: string): PodPlacement {
  const value: unknown = JSON.parse(text);
  if (!isRecord(value)) throw new Error('must be a JSON object');
  for (const [name, part] of Object.entries(value)) {
    if (!Object.hasOwn(KINDS, name))
      throw new Error(`must have only ${Object.keys(KINDS).join(', ')}, but has ${name}`);
    // null is how Helm takes a value away
    if (part !== null && !KINDS[name as keyof PodPlacement](part))
      throw new Error(`has a ${name} of another kind`);
  }
  return Object.fromEntries(Object.entries(value).filter(([, part]) => !isEmpty(part)));
}

interface Placed {
  readonly addresses: AddressMode;
  readonly imagePullSecrets?: readonly string[];
  readonly pods?: PodPlacement;
}

/** The part of a pod's spec that says where its image comes from and where it runs. */
export function placementOf({ addresses, imagePullSecrets = [], pods = {} }: Placed): Partial<PodSpec> {
  const { labels: _labels, annotations: _annotations, ...spec } = pods;
  const { nodeSelector, tolerations } = runtimePlacement({ addresses });
  return {
    ...spec,
    ...(nodeSelector ? { nodeSelector: { ...spec.nodeSelector, ...nodeSelector } } : {}),
    ...(tolerations ? { tolerations: [...(spec.tolerations ?? []), ...tolerations] } : {}),
    ...(imagePullSecrets.length === 0
      ? {}
      : { imagePullSecrets: imagePullSecrets.map((name) => ({ name })) }),
  };
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isEmpty(part: unknown): boolean {
  return part === '' || part === null || (typeof part === 'object' && Object.keys(part).length === 0);
}
