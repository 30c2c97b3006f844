import type { Pod, PodContainer } from '#lib/resources';
import type { Volume } from './volume.js';

/** Folders for files that do not last, which every machine has for all its users. */
const PLACES = ['/tmp', '/dev/shm'];

/**
 * The pod without volumes that begin empty and are mounted at `/tmp` or `/dev/shm` and nowhere else: where a container can
 * have no mounts, it finds the machine's folders there, which serve as well, but are shared and outlive it.
 */
export function withoutMachineFolders(pod: Pod): Pod {
  const { containers, initContainers = [] } = pod.spec;
  const volumes = (pod.spec.volumes as readonly Volume[] | undefined) ?? [];
  const mounts = [...containers, ...initContainers].flatMap(({ volumeMounts = [] }) => volumeMounts);
  const isOfMachine = ({ name, emptyDir }: Volume): boolean => {
    const own = mounts.filter((mount) => mount.name === name);
    return emptyDir !== undefined && own.length > 0 && own.every(isAtPlace);
  };
  const names = new Set(volumes.filter(isOfMachine).map(({ name }) => name));
  if (names.size === 0) return pod;
  const without = ({ volumeMounts = [], ...container }: PodContainer): PodContainer => ({
    ...container,
    volumeMounts: volumeMounts.filter(({ name }) => !names.has(name)),
  });
  return {
    ...pod,
    spec: {
      ...pod.spec,
      volumes: volumes.filter(({ name }) => !names.has(name)),
      containers: containers.map(without),
      initContainers: initContainers.map(without),
    },
  };
}

type VolumeMount = NonNullable<PodContainer['volumeMounts']>[number] & { readonly readOnly?: boolean };

function isAtPlace({ mountPath, subPath, subPathExpr, readOnly }: VolumeMount): boolean {
  return PLACES.includes(mountPath) && !subPath && !subPathExpr && readOnly !== true;
}
