import type { Pod, PodContainer } from '#lib/resources';

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

/** Keys of a source that become files, and their paths. */
interface Item {
  readonly key: string;
  readonly path: string;
  readonly mode?: number;
}

/** A Secret, or a ConfigMap. */
export interface KeySource {
  readonly items?: readonly Item[];
  readonly optional?: boolean;
}

export interface DownwardSource {
  readonly items?: readonly {
    readonly path: string;
    readonly mode?: number;
    readonly fieldRef?: { readonly fieldPath: string };
  }[];
}

/** The kinds of volumes that the process runtime makes. */
export interface Volume {
  readonly name: string;
  readonly emptyDir?: { readonly medium?: string };
  readonly configMap?: KeySource & { readonly name?: string; readonly defaultMode?: number };
  readonly secret?: KeySource & { readonly secretName?: string; readonly defaultMode?: number };
  readonly downwardAPI?: DownwardSource & { readonly defaultMode?: number };
  readonly projected?: { readonly sources?: readonly ProjectedSource[]; readonly defaultMode?: number };
}

export interface ProjectedSource {
  readonly configMap?: KeySource & { readonly name?: string };
  readonly secret?: KeySource & { readonly name?: string };
  readonly downwardAPI?: DownwardSource;
}
