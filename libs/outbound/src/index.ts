/**
 * Calls of URLs that users wrote: the check of the address, the signature of a call, and the result at a
 * receiver.
 */
export { judgeHosts } from './webhook/webhook-guard.js';
export { webhookPauseMs } from './webhook/post-webhook.js';
export { postWebhook, renderFailure, CALL_TIMEOUT_MS } from './webhook/post-webhook.js';
export { parseWebhookUrl } from './webhook/webhook-guard.js';
export { webhookGuard } from './webhook/webhook-guard.js';
export { answerOf, type WebhookAnswer } from './webhook/post-webhook.js';
export { signatureHeaders, signingSecretsOf } from './webhook/webhook-signature.js';

/**
 * Connections to addresses that users wrote: the check if they may be dialled, and their way through a proxy.
 */
export { AddressGuard, type Refusal } from './address-guard.js';
export { agentFetch } from './agent-fetch.js';
export { guardedRequest } from './guarded-request.js';
export type { Resolve } from './name-resolver.js';
export { proxyAgent } from './guarded-request.js';
export { hostOf, portOf } from './guarded-request.js';
