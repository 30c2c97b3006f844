export { nodeCapacity } from './node/node-capacity.js';
export { ensureNodeIdentity } from './node/node-name.js';
export type { UserRange } from './user/foreign-ranges.js';
export { startNode } from './node/start-node.js';
export type { ServingIdentity } from './log/log-server.js';
export { createServiceProxy } from './service-proxy/service-proxy.js';
