import { isJsonObject } from '#lib/json';
import { at, type KubeObject, listAt } from '#lib/kube-semantics';

/** Where a pod's spec says the name of a Secret or ConfigMap. */
const PLACES = {
  secrets: {
    environment: ['secretRef', 'name'],
    variable: ['valueFrom', 'secretKeyRef', 'name'],
    volume: ['secret', 'secretName'],
    projected: ['secret', 'name'],
  },
  configmaps: {
    environment: ['configMapRef', 'name'],
    variable: ['valueFrom', 'configMapKeyRef', 'name'],
    volume: ['configMap', 'name'],
    projected: ['configMap', 'name'],
  },
} as const;

type Kind = keyof typeof PLACES;

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
  const places = PLACES[resource];
  const containers = [...listAt(pod, 'spec', 'initContainers'), ...listAt(pod, 'spec', 'containers')];
  const volumes = listAt(pod, 'spec', 'volumes');
  const pulls = resource === 'secrets' ? listAt(pod, 'spec', 'imagePullSecrets') : [];
  const found = [
    ...containers.flatMap((each) => listAt(each, 'envFrom')).map((each) => at(each, ...places.environment)),
    ...containers.flatMap((each) => listAt(each, 'env')).map((each) => at(each, ...places.variable)),
    ...volumes.map((each) => at(each, ...places.volume)),
    ...volumes
      .flatMap((each) => listAt(each, 'projected', 'sources'))
      .map((each) => at(each, ...places.projected)),
    ...pulls.map((each) => (isJsonObject(each) ? each['name'] : undefined)),
  ];
  return new Set(found.filter((name) => typeof name === 'string'));
}
