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
