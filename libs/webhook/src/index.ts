/**
 * Calls of URLs that users wrote: the check of the address, the signature of a call, and the result at a
 * receiver.
 */
export { judgeHosts } from './judge-hosts.js';
export { webhookPauseMs } from './pause.js';
export { postWebhook, renderFailure, CALL_TIMEOUT_MS } from './post-webhook.js';
export { parseWebhookUrl } from './webhook-address.js';
export { webhookGuard } from './webhook-guard.js';
export { answerOf, type WebhookAnswer } from './webhook-answer.js';
export { signatureHeaders, signingSecretsOf } from './webhook-signature.js';
