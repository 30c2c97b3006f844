export {
  type ApiServer,
  type ApiServerOptions,
  type IssuedCertificate,
  type KubeIdentity,
  type KubeconfigOptions,
  type NodeLogAnswer,
  type NodeLogDialer,
  type NodeLogRequest,
} from './api-server-options.js';
export { createApiServer } from './create-api-server.js';
