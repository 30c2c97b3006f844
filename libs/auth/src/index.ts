export { apiKeyHash, mintApiKey, parseApiKey, sameHash } from './api-key.js';
export type { ApiKeyKind, Caller } from './caller.js';
