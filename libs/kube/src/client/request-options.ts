import type { KubeObject, ObjectKey, ObjectMeta, OwnerReference, ResourceRef } from '#lib/resources';

/** Path of a collection: `/api/v1/namespaces/ns/pods`, or of all namespaces without one. */
export function collectionPath(ref: ResourceRef, namespace?: string): string {
  const root = ref.group === '' ? `/api/${ref.version}` : `/apis/${ref.group}/${ref.version}`;
  const scope =
    ref.namespaced && namespace !== undefined ? `/namespaces/${encodeURIComponent(namespace)}` : '';
  return `${root}${scope}/${ref.plural}`;
}

/** Path of one object or of a subresource of it. */
export function objectPath(ref: ResourceRef, key: ObjectKey, subresource?: string): string {
  if (ref.namespaced && !key.namespace)
    throw new Error(`${ref.kind} ${key.name} is namespaced: its namespace is missing`);
  // an empty name would address the collection, and a DELETE of it would delete everything there
  if (!key.name) throw new Error(`a ${ref.kind} without a name cannot be addressed`);
  const path = `${collectionPath(ref, key.namespace)}/${encodeURIComponent(key.name)}`;
  return subresource === undefined ? path : `${path}/${subresource}`;
}

/** Selection of the objects of a list or watch. */
export interface Selection {
  /** All namespaces when absent. */
  readonly namespace?: string;
  /** `a=b,c in (d,e),!f` */
  readonly labelSelector?: string;
  /** `metadata.name=x,spec.nodeName=y` */
  readonly fieldSelector?: string;
  /** Asks for apiVersion, kind and metadata alone (a server that cannot sends everything). */
  readonly metadataOnly?: boolean;
}

export interface ReadOptions {
  readonly signal?: AbortSignal;
}

export interface ListOptions extends Selection, ReadOptions {
  /** Objects in one page; all pages are read. Default 500. */
  readonly pageSize?: number;
  /** `0` takes what the server has at hand; absent reads the newest. */
  readonly resourceVersion?: string;
}

export interface WatchOptions extends Selection, ReadOptions {
  /** Events after this version; absent or `0`: begins with ADDED for every present object. */
  readonly resourceVersion?: string;
  /** The server ends the watch by itself after this time. */
  readonly timeoutSeconds?: number;
  /** The connection counts as dead, and the iterator throws, when nothing comes for this long. Default 80 s. */
  readonly silentForMs?: number;
  /** Asks for objects without `metadata.managedFields`; a server that cannot sends them. */
  readonly omitsManagedFields?: boolean;
  /** Called when the server began to answer; events may take long to come. */
  readonly onOpen?: () => void;
}

export interface WriteOptions {
  readonly signal?: AbortSignal;
  /** Default: the client's own field manager. */
  readonly fieldManager?: string;
  readonly dryRun?: boolean;
  /** Refuses fields that the kind does not have; a custom resource drops them otherwise. */
  readonly isStrict?: boolean;
  /** `status`, `scale`, … instead of the object itself. */
  readonly subresource?: string;
}

export interface ApplyOptions extends WriteOptions {
  /** Take fields over from other managers. Default true, as controllers must. */
  readonly force?: boolean;
}

export interface DeleteOptions {
  readonly signal?: AbortSignal;
  /** Preconditions: refused with Conflict when the object is another one, or has changed. */
  readonly uid?: string;
  readonly resourceVersion?: string;
  /** Default Background. */
  readonly propagation?: 'Background' | 'Foreground' | 'Orphan';
  readonly gracePeriodSeconds?: number;
}

export interface LogOptions extends ReadOptions {
  readonly container?: string;
  readonly follow?: boolean;
  readonly previous?: boolean;
  readonly tailLines?: number;
  readonly sinceSeconds?: number;
  /** RFC 3339; the API takes whole seconds and ignores the rest. */
  readonly sinceTime?: string;
  readonly timestamps?: boolean;
}

export interface TokenRequest {
  readonly audiences?: readonly string[];
  readonly expirationSeconds?: number;
  /** The token dies with this object. */
  readonly boundObject?: Pick<OwnerReference, 'apiVersion' | 'kind' | 'name' | 'uid'>;
}

export interface IssuedToken {
  readonly token: string;
  /** RFC 3339. */
  readonly expirationTimestamp: string;
}

/** All objects of a list and the version to watch from. */
export interface KubeList<T> {
  readonly items: readonly T[];
  readonly resourceVersion: string;
}

/** One line of a watch. `bookmark` carries only a version. */
export type WatchEvent<T> =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: T }
  | { readonly type: 'BOOKMARK'; readonly resourceVersion: string };

/**
 * Metadata of a draft. Fields that the server fills in cannot be sent; the name may be left out with
 * `generateName`.
 */
export type DraftMeta = Partial<Omit<ObjectMeta, 'creationTimestamp' | 'deletionTimestamp' | 'generation'>>;

/** An object to send. `apiVersion` and `kind` are filled in from the resource reference. */
export type Draft<T> = Omit<T, 'metadata' | 'apiVersion' | 'kind'> & {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: DraftMeta;
};

/** Any depth of a value, for merge patches and applied configurations; `null` removes a field. */
export type Fields<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? { readonly [K in keyof T]?: Fields<T[K]> | null }
    : T;

/** A configuration for server-side apply: names the object and only the fields that the manager owns. */
export type Applied<T> = { readonly [K in Exclude<keyof T, 'metadata'>]?: Fields<T[K]> } & {
  readonly metadata: DraftMeta & { readonly name: string };
};

/** An object with a status. */
export interface WithStatus extends KubeObject {
  readonly status?: object;
}

/** The fields of a status of which a writer owns some. */
export type StatusOf<T extends WithStatus> = Partial<NonNullable<T['status']>>;

/** A configuration for server-side apply of the status alone. */
export interface AppliedStatus<T extends WithStatus> {
  readonly metadata: DraftMeta & { readonly name: string };
  readonly status: StatusOf<T>;
}
