export { parseAgentToken, renderAgentToken } from './agent-token.js';
export { apiKeyHash, mintApiKey, parseApiKey, sameHash } from './api-key.js';
export type { Caller, KeyGrant } from './caller.js';
export { CHOSEN_SCOPES, KEY_SCOPES, type ChosenScope, type KeyScope } from './key-scope.js';
