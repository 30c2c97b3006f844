import type { PodUser } from './pod-user.js';

/** What to start. */
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
}
