export { type ApiServer } from './api-server-options.js';
export { createApiServer } from './create-api-server.js';
