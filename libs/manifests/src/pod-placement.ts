import {
  type AgentPlacement,
  type PodSpec,
  PROCESS_RUNTIME,
  PROCESS_RUNTIME_TAINT,
  type ResourceSpec,
  type Toleration,
} from '#lib/resources';

/**
 * Address form of Services: through the cluster's DNS, or through a port on loopback that the node notes on
 * them.
 */
export type AddressMode = 'loopback' | 'cluster-dns';

/**
 * The part of a pod's spec that brings it to a node which can run it. Where Services are reached on loopback,
 * images are names that only the process runtime resolves: in a cluster with other nodes they would end as
 * `ErrImagePull` there. The process runtime taints its node in a cluster of others, so that no foreign pods
 * are scheduled to it.
 */
export function runtimePlacement({
  addresses,
}: {
  readonly addresses: AddressMode;
}): Pick<PodSpec, 'nodeSelector' | 'tolerations'> {
  if (addresses !== 'loopback') return {};
  const { key, value, effect } = PROCESS_RUNTIME_TAINT;
  return {
    nodeSelector: PROCESS_RUNTIME,
    tolerations: [{ key, operator: 'Equal', value, effect }],
  };
}

/** The operator's settings for all pods of the platform's own programs, agents not included. */
export interface PodPlacement {
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly tolerations?: readonly Toleration[];
  readonly affinity?: object;
  readonly priorityClassName?: string;
}

/** Defaults of a cluster for pods of agents, unless the Workspace or the resource spec sets them. */
export type AgentDefaults = AgentPlacement & Pick<ResourceSpec, 'memoryLimitMb'>;

type Kinds = Readonly<Record<string, (value: unknown) => boolean>>;

/** The fields of a pod that say where it runs: the chart, a Workspace and a resource spec have them by these names. */
const AGENT_KINDS = {
  nodeSelector: isRecord,
  tolerations: Array.isArray,
  affinity: isRecord,
  topologySpreadConstraints: Array.isArray,
  priorityClassName: isText,
  runtimeClassName: isText,
} satisfies Record<keyof AgentPlacement, (value: unknown) => boolean>;

const { nodeSelector, tolerations, affinity, priorityClassName } = AGENT_KINDS;
const POD_KINDS: Kinds = {
  labels: isRecord,
  annotations: isRecord,
  nodeSelector,
  tolerations,
  affinity,
  priorityClassName,
};

/**
 * Parses placement from JSON; empty parts are left out, and the API server judges the rest. @throws Error
 * whose message completes "NAME …"
 */
export function parsePodPlacement(text: string): PodPlacement {
  return parsePlacement(text, POD_KINDS);
}

/** The same for pods of agents. */
export function parseAgentPlacement(text: string): AgentPlacement {
  return parsePlacement(text, AGENT_KINDS);
}

/** True when a field of a resource spec decides where pods run. */
export function isPlacementField(name: string): boolean {
  return Object.hasOwn(AGENT_KINDS, name);
}

/** The part of an agent's pod that says where it runs, from what may say more. */
export function agentPlacementOf(spec: AgentPlacement): Partial<PodSpec> {
  return Object.fromEntries(Object.entries(spec).filter(([name]) => isPlacementField(name)));
}

function parsePlacement(text: string, kinds: Kinds): Readonly<Record<string, never>> {
  const value: unknown = JSON.parse(text);
  if (!isRecord(value)) throw new Error('must be a JSON object');
  for (const [name, part] of Object.entries(value)) {
    if (!Object.hasOwn(kinds, name))
      throw new Error(`must have only ${Object.keys(kinds).join(', ')}, but has ${name}`);
    // null is how Helm takes a value away
    if (part !== null && kinds[name]?.(part) !== true) throw new Error(`has a ${name} of another kind`);
  }
  return Object.fromEntries(Object.entries(value).filter(([, part]) => !isEmpty(part))) as Record<
    string,
    never
  >;
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

function isText(value: unknown): boolean {
  return typeof value === 'string';
}

function isEmpty(part: unknown): boolean {
  return part === '' || part === null || (typeof part === 'object' && Object.keys(part).length === 0);
}
