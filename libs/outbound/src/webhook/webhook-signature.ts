import { createHmac } from 'node:crypto';

/** Bytes of a secret: those behind `whsec_` in base64, else the text itself. */
function keyOf(secret: string): Buffer {
  return secret.startsWith('whsec_') ? Buffer.from(secret.slice(6), 'base64') : Buffer.from(secret);
}

/** The secrets of a setting: several, separated by commas, while receivers change over from one to another. */
export function signingSecretsOf(setting: string | undefined): string[] {
  return (setting ?? '')
    .split(',')
    .map((secret) => secret.trim())
    .filter((secret) => secret !== '');
}

/** Facts that a call carries beside its body. */
export interface SignedCall {
  readonly id: string;
  readonly sentAt: Date;
  readonly body: string;
}

/**
 * The headers by which a receiver knows a call, by the rules of Standard Webhooks: `webhook-id` is the same for every
 * attempt, `webhook-timestamp` counts seconds, `webhook-signature` holds HMAC-SHA256 of `id.timestamp.body`, one for
 * each secret. Without a secret there is no signature.
 */
export function signatureHeaders(
  { id, sentAt, body }: SignedCall,
  secrets: readonly string[],
): Record<string, string> {
  const timestamp = String(Math.floor(sentAt.getTime() / 1000));
  const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp };
  if (secrets.length === 0) return headers;
  const signatures = secrets.map(
    (secret) =>
      `v1,${createHmac('sha256', keyOf(secret)).update(`${id}.${timestamp}.${body}`).digest('base64')}`,
  );
  return { ...headers, 'webhook-signature': signatures.join(' ') };
}
