import { BlockList } from 'node:net';
import type { NetworkPolicy, NetworkPolicyPeer } from '#lib/resources';

type Labels = Readonly<Record<string, string>>;
type Selector = NetworkPolicy['spec']['podSelector'];

/** What policies know of a pod. */
export interface NetworkPod {
  readonly namespace: string;
  readonly labels: Labels;
  /** Numbers by the names of its ports. */
  readonly ports?: Readonly<Record<string, number>>;
}

/** A connection by TCP; a peer without a pod is an address outside of the cluster, whom no selector finds. */
interface Connection {
  readonly from: NetworkPod | undefined;
  /** A text is an address outside of the cluster, as blocks of addresses find it. */
  readonly to: NetworkPod | string | undefined;
  readonly port: number;
}

/**
 * Whether a network that enforces policies lets a connection through, by the rules of the Kubernetes API: a pod that no policy
 * selects for a direction takes and opens everything, another one what any of its policies allows. Blocks of
 * addresses (IPv4) find no pods here.
 * @param namespaces labels of namespaces, beside their names
 */
export function mayConnect(
  policies: readonly NetworkPolicy[],
  { from, to, port }: Connection,
  namespaces: Readonly<Record<string, Labels>> = {},
): boolean {
  const finds = (
    peer: NetworkPolicyPeer,
    policy: NetworkPolicy,
    pod: NetworkPod | string | undefined,
  ): boolean => {
    if (typeof pod === 'string') return peer.ipBlock !== undefined && isInBlock(pod, peer.ipBlock);
    if (pod === undefined || peer.ipBlock !== undefined) return false;
    const isThere = peer.namespaceSelector
      ? selects(peer.namespaceSelector, {
          'kubernetes.io/metadata.name': pod.namespace,
          ...namespaces[pod.namespace],
        })
      : policy.metadata.namespace === pod.namespace;
    return isThere && selects(peer.podSelector ?? {}, pod.labels);
  };
  const isPort = (ports: readonly { readonly port?: number | string; readonly protocol?: string }[] = []) =>
    ports.length === 0 ||
    ports.some(
      ({ port: wanted, protocol = 'TCP' }) =>
        protocol === 'TCP' &&
        (wanted === undefined ||
          (typeof wanted === 'number' ? wanted : typeof to === 'string' ? undefined : to?.ports?.[wanted]) ===
            port),
    );
  const passes = (
    peers: readonly NetworkPolicyPeer[] | undefined,
    policy: NetworkPolicy,
    pod?: NetworkPod | string,
  ) => peers === undefined || peers.length === 0 || peers.some((peer) => finds(peer, policy, pod));
  const ingress = selecting(policies, typeof to === 'string' ? undefined : to, 'Ingress');
  const egress = selecting(policies, from, 'Egress');
  return (
    (ingress.length === 0 ||
      ingress.some((policy) =>
        (policy.spec.ingress ?? []).some((rule) => isPort(rule.ports) && passes(rule.from, policy, from)),
      )) &&
    (egress.length === 0 ||
      egress.some((policy) =>
        (policy.spec.egress ?? []).some((rule) => isPort(rule.ports) && passes(rule.to, policy, to)),
      ))
  );
}

function selecting(
  policies: readonly NetworkPolicy[],
  pod: NetworkPod | undefined,
  direction: 'Ingress' | 'Egress',
): readonly NetworkPolicy[] {
  if (pod === undefined) return [];
  return policies.filter(
    ({ metadata, spec }) =>
      metadata.namespace === pod.namespace &&
      selects(spec.podSelector, pod.labels) &&
      (spec.policyTypes ?? ['Ingress', ...(spec.egress ? ['Egress'] : [])]).includes(direction),
  );
}

function selects({ matchLabels = {}, matchExpressions = [] }: Selector, labels: Labels): boolean {
  return (
    Object.entries(matchLabels).every(([name, value]) => labels[name] === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      const value = labels[key];
      if (operator === 'Exists') return value !== undefined;
      if (operator === 'DoesNotExist') return value === undefined;
      const isOne = value !== undefined && values.includes(value);
      return operator === 'In' ? isOne : !isOne;
    })
  );
}

function isInBlock(
  address: string,
  { cidr, except = [] }: NonNullable<NetworkPolicyPeer['ipBlock']>,
): boolean {
  const isIn = (block: string): boolean => {
    const [network = '', bits] = block.split('/');
    if (network.includes(':')) return false;
    const list = new BlockList();
    list.addSubnet(network, Number(bits));
    return list.check(address);
  };
  return isIn(cidr) && !except.some(isIn);
}
