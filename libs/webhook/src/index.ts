/** Calls of URLs that somebody else wrote: what may be called, how a call is signed, and what a receiver made of it. */
export { judgeHosts } from './judge-hosts.js';
export { webhookPauseMs } from './pause.js';
export { postWebhook, renderFailure, CALL_TIMEOUT_MS } from './post-webhook.js';
export { parseWebhookUrl } from './webhook-address.js';
export { webhookGuard } from './webhook-guard.js';
export { answerOf, type WebhookAnswer } from './webhook-answer.js';
export { signatureHeaders, signingSecretsOf } from './webhook-signature.js';
