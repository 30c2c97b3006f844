import { jsonEquals } from '#lib/json';
import { at, type KubeObject, textAt } from '#lib/kube-semantics';
import {
  BUILD_LOGIN_TYPE,
  LISTENER_KEY_TYPE,
  listenerKeyName,
  listenerObjectName,
  namedByPodSpec,
  pullSecretsOf,
  SECRET_TYPE,
} from '#lib/resources';
import type { ObjectStore } from '../store/object-store.js';

type Kind = 'secrets' | 'configmaps';

/** Objects never change; a node asks for each name, and each question is about all pods of the namespace. */
const known: Readonly<Record<Kind, WeakMap<KubeObject, ReadonlySet<string>>>> = {
  secrets: new WeakMap(),
  configmaps: new WeakMap(),
};

/** The names of all Secrets or ConfigMaps that a pod asks for. */
export function namedByPod(pod: KubeObject, resource: Kind): ReadonlySet<string> {
  const found = known[resource].get(pod) ?? namesIn(pod, resource);
  known[resource].set(pod, found);
  return found;
}

function namesIn(pod: KubeObject, resource: Kind): ReadonlySet<string> {
  const spec = at(pod, 'spec');
  const pulls = resource === 'secrets' ? pullSecretsOf(spec) : [];
  return new Set([...namedByPodSpec(spec, resource), ...pulls]);
}

const UNMOUNTABLE: ReadonlySet<string> = new Set(Object.values(SECRET_TYPE));
const LISTENER = new RegExp(`^${listenerObjectName('(.+)')}$`);
const JOBS = 'jobs.batch';

/**
 * True when a Secret is not for this pod: no pod may mount those that the platform's own programs read by
 * name, and the key of a listener and the login of a build are for their own pods only. A user who may create
 * pods in a namespace, e.g. a listener, could otherwise have every Secret there shown to a pod without the
 * right to read any.
 */
export function isUnmountable(secret: KubeObject, pod: KubeObject, store: Pick<ObjectStore, 'get'>): boolean {
  const type = textAt(secret, ['type']);
  if (type === LISTENER_KEY_TYPE) return !isOfListener(secret, pod);
  if (type === BUILD_LOGIN_TYPE) return !isOfBuild(secret, pod, store);
  return UNMOUNTABLE.has(type);
}

/** True for a pod of the listener's account: it may do what the listener does, whoever made it. */
function isOfListener({ metadata }: KubeObject, pod: KubeObject): boolean {
  const [, listener] = LISTENER.exec(textAt(pod, ['spec', 'serviceAccountName'])) ?? [];
  return listener !== undefined && metadata.name === listenerKeyName(listener);
}

/**
 * A pod of the Job that the Secret was made with: of its name, of one owner. Owners of a pod are what its maker writes, so it
 * also runs what that Job runs, and nothing else.
 */
function isOfBuild({ metadata }: KubeObject, pod: KubeObject, store: Pick<ObjectStore, 'get'>): boolean {
  const { name = '', namespace = '', ownerReferences = [] } = metadata;
  const job = store.get({ resource: JOBS, namespace, name })?.object;
  const { uid } = job?.metadata ?? {};
  if (!job || uid === undefined) return false;
  const makers = [uid, ...(job.metadata.ownerReferences ?? []).map((owner) => owner.uid)];
  return (
    ownerReferences.some((owner) => makers.includes(owner.uid)) &&
    (pod.metadata.ownerReferences ?? []).some((owner) => owner.uid === uid) &&
    ['initContainers', 'containers', 'ephemeralContainers', 'volumes'].every((part) =>
      jsonEquals(at(pod, 'spec', part) ?? null, at(job, 'spec', 'template', 'spec', part) ?? null),
    )
  );
}
