import type { ProcessUser } from '../pod-fields/pod-fields.js';

/** Whom the processes of one pod run as: a user of their own, or the one that the node itself is. */
export type PodUser =
  | { readonly isOwn: true; readonly uid: number; readonly gid: number }
  | (ProcessUser & { readonly isOwn: false });

/** The user of this process. */
export function nodeUser(): PodUser {
  return { uid: process.getuid?.(), gid: process.getgid?.(), isOwn: false };
}
