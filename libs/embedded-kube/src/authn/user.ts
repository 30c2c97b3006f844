const NODES_GROUP = 'system:nodes';
const NODE_USER = 'system:node:';

/** The name of the node that a user is; undefined for every other user. */
export function nodeOf(user: UserInfo): string | undefined {
  if (!user.groups.includes(NODES_GROUP) || !user.username.startsWith(NODE_USER)) return undefined;
  // a node without a name would be that of every pod that has none yet
  return user.username.slice(NODE_USER.length) || undefined;
}

/** User that makes a request. */
export interface UserInfo {
  readonly username: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

export const ANONYMOUS: UserInfo = { username: 'system:anonymous', groups: ['system:unauthenticated'] };
export const AUTHENTICATED = 'system:authenticated';
/** User that serves the Services of a machine, as in every cluster. */
export const SERVICE_PROXY = 'system:kube-proxy';
/** Identity of the API server towards a node whose logs it reads. */
export const KUBELET_CLIENT = 'kube-apiserver-kubelet-client';
export const MASTERS = 'system:masters';
