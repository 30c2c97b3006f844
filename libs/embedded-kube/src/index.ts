export type { ApiServer, KubeIdentity } from './api-server-options.js';
export { createApiServer } from './create-api-server.js';
