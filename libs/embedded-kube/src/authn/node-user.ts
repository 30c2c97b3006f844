import type { UserInfo } from './user.js';

const NODES_GROUP = 'system:nodes';
const NODE_USER = 'system:node:';

/** The name of the node that a user is; undefined for every other user. */
export function nodeOf(user: UserInfo): string | undefined {
  if (!user.groups.includes(NODES_GROUP) || !user.username.startsWith(NODE_USER)) return undefined;
  // a node without a name would be that of every pod that has none yet
  return user.username.slice(NODE_USER.length) || undefined;
}
