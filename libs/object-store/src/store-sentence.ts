import type { RequestOptions } from 'node:http';
import { textOf } from './xml-texts.js';

const MAX_LETTERS = 300;
const HIDDEN = '[hidden]';
/** Tokens, signatures and hashes; words and names of people's resources have other characters in between. */
const LONG_TOKEN = /[A-Za-z0-9+/%=]{40,}/g;

/**
 * The sentence of a store's error for statuses and messages: one line, shortened, and without what could be a secret. A
 * server may repeat anything that a request carries, so the request's own credentials are taken out by their values.
 */
export function storeSentence(
  text: string,
  { headers = {} }: Pick<RequestOptions, 'headers'>,
): string | undefined {
  let sentence = textOf(text, 'Message') ?? '';
  for (const secret of credentialsOf(headers)) sentence = sentence.replaceAll(secret, HIDDEN);
  sentence = sentence
    .replace(/\?\S{8,}/g, '?…')
    .replace(LONG_TOKEN, HIDDEN)
    .replace(/[\s\p{Cc}\p{Cf}]+/gu, ' ')
    .trim();
  if (sentence === '') return undefined;
  return sentence.length > MAX_LETTERS ? `${sentence.slice(0, MAX_LETTERS)}…` : sentence;
}

/** The key id, the signature and the session token of a request. */
function credentialsOf(headers: NonNullable<RequestOptions['headers']>): readonly string[] {
  const signed = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value)] as const);
  const { authorization = '', 'x-amz-security-token': token = '' } = Object.fromEntries(signed);
  const [, keyId = ''] = /Credential=([^/,\s]+)/.exec(authorization) ?? [];
  const [, signature = ''] = /Signature=(\w+)/.exec(authorization) ?? [];
  return [token, encodeURIComponent(token), signature, keyId].filter((secret) => secret.length > 3);
}
