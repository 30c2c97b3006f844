import { jsonEquals } from '#lib/json';
import { forbidden, type KubeObject, type ResourceName, textAt } from '#lib/kube-semantics';
import { ANNOTATION } from '#lib/resources';
import { nodeOf, SERVICE_PROXY, type UserInfo } from '../authn/user.js';
import type { RequestContext } from '../http/request-context.js';
import { refusal } from './access.js';
import type { Authorizer } from './authorizer.js';

/** An apply of what does not exist makes it, for which the right to patch is not enough. Throws 403. */
export function checkCreatedByApply({ info, user }: RequestContext, authorizer: Authorizer): void {
  if (info.verb !== 'patch') return;
  const access = { ...info, user, verb: 'create' };
  const { allowed, reason } = authorizer.decide(access);
  if (!allowed) throw refusal(access, reason);
}

/** Labels of Kubernetes that a kubelet sets on its own Node; the plugin NodeRestriction allows the same. */
const OWN_LABELS = new Set([
  'beta.kubernetes.io/arch',
  'beta.kubernetes.io/instance-type',
  'beta.kubernetes.io/os',
  'failure-domain.beta.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
  'kubernetes.io/arch',
  'kubernetes.io/hostname',
  'kubernetes.io/os',
  'node.kubernetes.io/instance-type',
  'topology.kubernetes.io/region',
  'topology.kubernetes.io/zone',
]);
const OWN_LABEL_DOMAINS = ['kubelet.kubernetes.io', 'node.kubernetes.io'];
const RESERVED_DOMAINS = ['kubernetes.io', 'k8s.io'];

type Texts = Readonly<Record<string, string>>;

/**
 * Restricts the fields that a node and the Service proxy may write in the objects that their rights let them
 * reach, as Kubernetes' plugin NodeRestriction: labels of a pod choose its owner and its Service, so that a
 * node which could change them could take the place of any other pod. Throws 403.
 */
export function checkNodeWrite(
  type: ResourceName,
  next: KubeObject,
  old: KubeObject | undefined,
  user: UserInfo,
): void {
  if (user.username === SERVICE_PROXY && old && isCore(type, 'services')) checkService(type, next, old);
  const node = nodeOf(user);
  if (node === undefined) return;
  const refuse = refusalOf(type, next);
  if (isCore(type, 'pods') && old) checkPodStatus(next, old, node, refuse);
  if (isCore(type, 'nodes')) checkOwnNode(next, old, node, refuse);
  if (type.resource === 'leases' && next.metadata.name !== node)
    refuse('can only access node lease with the same name as the requesting node');
}

type Refuse = (why: string) => never;

function refusalOf(type: ResourceName, { metadata }: KubeObject): Refuse {
  return (why) => {
    throw forbidden(type, metadata.name ?? '', why);
  };
}

function isCore({ group, resource }: ResourceName, wanted: string): boolean {
  return group === '' && resource === wanted;
}

function checkPodStatus(next: KubeObject, old: KubeObject, node: string, refuse: Refuse): void {
  const name = `node "${node}" cannot update`;
  if (!jsonEquals(next.metadata.labels ?? {}, old.metadata.labels ?? {}))
    refuse(`${name} labels through pod status`);
  // the real ports of a pod are the node's to say
  if (!isSameBut([ANNOTATION.loopbackPorts], next.metadata.annotations, old.metadata.annotations))
    refuse(`${name} annotations through pod status`);
  if (!jsonEquals(next.metadata.finalizers ?? [], old.metadata.finalizers ?? []))
    refuse(`${name} finalizers through pod status`);
}

function checkOwnNode(next: KubeObject, old: KubeObject | undefined, node: string, refuse: Refuse): void {
  const who = `node "${node}" is not allowed to`;
  const { name = '', labels = {}, ownerReferences = [] } = next.metadata;
  if (name !== node) refuse(`${who} modify node "${name}"`);
  if (!jsonEquals(ownerReferences, old?.metadata.ownerReferences ?? []))
    refuse(`${who} modify ownerReferences`);
  if (old && !jsonEquals(taintsOf(next), taintsOf(old))) refuse(`${who} modify taints`);
  const changed = changedNames(labels, old?.metadata.labels ?? {}).filter(isReservedLabel);
  if (changed.length > 0) refuse(`${who} modify labels: ${changed.join(', ')}`);
}

function taintsOf(node: KubeObject): unknown {
  const { spec } = node;
  return typeof spec === 'object' && spec !== null && 'taints' in spec ? (spec.taints ?? []) : [];
}

function isReservedLabel(label: string): boolean {
  const [domain = '', name] = label.split('/');
  if (name === undefined || OWN_LABELS.has(label)) return false;
  if (OWN_LABEL_DOMAINS.some((own) => isWithin(domain, own))) return false;
  return RESERVED_DOMAINS.some((reserved) => isWithin(domain, reserved));
}

function isWithin(domain: string, parent: string): boolean {
  return domain === parent || domain.endsWith(`.${parent}`);
}

function checkService(type: ResourceName, next: KubeObject, old: KubeObject): void {
  const { annotations, managedFields: _fields, ...rest } = next.metadata;
  const { annotations: former, managedFields: _former, ...before } = old.metadata;
  const isOnlyItsOwn =
    isSameBut([ANNOTATION.loopbackPort, ANNOTATION.wake], annotations, former) &&
    jsonEquals({ ...next, metadata: rest }, { ...old, metadata: before });
  if (isOnlyItsOwn) return;
  const why = `the Service proxy can only write the annotations ${ANNOTATION.loopbackPort} and ${ANNOTATION.wake}`;
  throw forbidden(type, textAt(old, ['metadata', 'name']), why);
}

function isSameBut(names: readonly string[], next: Texts = {}, old: Texts = {}): boolean {
  return changedNames(next, old).every((changed) => names.includes(changed));
}

function changedNames(next: Texts, old: Texts): readonly string[] {
  return [...new Set([...Object.keys(next), ...Object.keys(old)])].filter((name) => next[name] !== old[name]);
}
