import type { Pod, PodContainer } from '#lib/resources';
import type { Volume } from '../volume/volume.js';
import { ContainerConfigError } from '../pod-values/container-config-error.js';

/**
 * Each is a request of its own at every start, and all count for the one user that is the node for all pods.
 */
const MAX_OBJECTS = 100;

/** @throws ContainerConfigError when a container asks for more Secrets and ConfigMaps than any has that people write */
export function requireFewObjects(pod: Pod, container: PodContainer): void {
  const names = new Set([...ofVariables(container), ...ofVolumes(pod, container)]);
  if (names.size <= MAX_OBJECTS) return;
  throw new ContainerConfigError(
    `a container asks for ${names.size} different Secrets and ConfigMaps; the limit is ${MAX_OBJECTS}`,
  );
}

function* ofVariables({ env = [], envFrom = [] }: PodContainer): Iterable<string> {
  for (const { secretRef, configMapRef } of envFrom) {
    if (secretRef) yield `secret/${secretRef.name}`;
    if (configMapRef) yield `configmap/${configMapRef.name}`;
  }
  for (const { valueFrom } of env) {
    if (valueFrom?.secretKeyRef) yield `secret/${valueFrom.secretKeyRef.name}`;
    if (valueFrom?.configMapKeyRef) yield `configmap/${valueFrom.configMapKeyRef.name}`;
  }
}

function* ofVolumes({ spec }: Pod, { volumeMounts = [] }: PodContainer): Iterable<string> {
  const mounted = new Set(volumeMounts.map(({ name }) => name));
  for (const { name, secret, configMap, projected } of (spec.volumes ?? []) as readonly Volume[]) {
    if (!mounted.has(name)) continue;
    if (secret) yield `secret/${secret.secretName ?? ''}`;
    if (configMap) yield `configmap/${configMap.name ?? ''}`;
    for (const source of projected?.sources ?? []) {
      if (source.secret) yield `secret/${source.secret.name ?? ''}`;
      if (source.configMap) yield `configmap/${source.configMap.name ?? ''}`;
    }
  }
}
