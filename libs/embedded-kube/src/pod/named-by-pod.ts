import { at, type KubeObject } from '#lib/kube-semantics';
import { namedByPodSpec, pullSecretsOf } from '#lib/resources';

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
