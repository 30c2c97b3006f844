export type { ApiServer, KubeIdentity, NodeLogDialer } from './api-server-options.js';
export { createApiServer } from './create-api-server.js';
export type { NamespaceQuota } from './store/namespace-quota.js';
