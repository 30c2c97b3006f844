import type { ProcessUser } from '../pod-fields/pod-fields.js';

/** User of one pod's processes: a user of their own, or that of the node itself. */
export type PodUser =
  | { readonly isOwn: true; readonly uid: number; readonly gid: number }
  | (ProcessUser & { readonly isOwn: false });

/** The user of this process. */
export function nodeUser(): PodUser {
  return { uid: process.getuid?.(), gid: process.getgid?.(), isOwn: false };
}
