export type { ImageResolver } from './context/node-context.js';
export { ensureNodeIdentity, type NodeIdentity } from './node/node-name.js';
export { startNode, type NodeOptions, type RunningNode } from './node/start-node.js';
export type { ServingIdentity } from './log/log-server.js';
export {
  createServiceProxy,
  type ServiceProxy,
  type ServiceProxyOptions,
} from './service-proxy/service-proxy.js';
