export {
  apiKeyHash,
  mintApiKey,
  parseApiKey,
  sameHash,
  type MintedApiKey,
  type ParsedApiKey,
} from './api-key.js';
export type { ApiKeyKind, Caller, TenantId } from './caller.js';
