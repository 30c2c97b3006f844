import type { KubeObject } from '#lib/kube-semantics';

/** An object as it was committed. */
export interface StoredObject {
  readonly object: KubeObject;
  /** The object's JSON, made once for the database and reused for answers and watches. */
  readonly json: string;
  readonly revision: number;
}

/** One committed change. */
export interface StoredChange {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
  /** The object after the change; for DELETED its last state with the revision of the deletion. */
  readonly after: StoredObject;
  /** The object before the change; undefined for ADDED, and for changes from before a restart. */
  readonly before: StoredObject | undefined;
}
