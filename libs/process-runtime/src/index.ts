export { nodeCapacity } from './node/registration.js';
export { ensureNodeIdentity, startNode } from './node/start-node.js';
export type { UserRange } from './user/pod-user.js';
export type { ServingIdentity } from './log/log-server.js';
export { createServiceProxy } from './service-proxy/service-proxy.js';
