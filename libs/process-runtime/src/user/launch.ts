import type { Inheritance } from '#lib/held-sockets';
import type { PodUser } from './pod-user.js';

/** Descriptors before it are the standard streams and the channel to the node. */
export const FIRST_SOCKET = 4;

/** Mounts that only one process sees. */
export interface Mounts {
  /** An empty folder of the pod, on which its root is made. */
  readonly stage: string;
  /** Words of `MOUNT_SCRIPT`. */
  readonly steps: readonly string[];
}

/** Program to start. */
export interface Launch {
  readonly command: string;
  readonly args: readonly string[];
  readonly folder: string;
  /** The spec names the folder; else it is one that only the node can change. */
  readonly isFolderNamed: boolean;
  readonly environment: Readonly<Record<string, string>>;
  readonly user: PodUser;
  /** No file that it executes may give it more rights. */
  readonly noNewPrivileges: boolean;
  /** Sockets that the node holds for it, as descriptors from `FIRST_SOCKET`. */
  readonly sockets: Inheritance['stdio'];
  readonly mounts?: Mounts | undefined;
  /** True for a program that can be loaded before it gets the rest. */
  readonly isSparable?: boolean;
}
