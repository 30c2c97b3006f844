import { createHash, randomInt, timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const ID_LENGTH = 12;
const SECRET_LENGTH = 32; // 190 bits
const CHECKSUM_LENGTH = 6; // 62^6 > 2^32
const FORM = new RegExp(
  `^apk_([0-9A-Za-z]{${ID_LENGTH}})_([0-9A-Za-z]{${SECRET_LENGTH}})([0-9A-Za-z]{${CHECKSUM_LENGTH}})$`,
);

/** A fresh key. `key` is shown once and never stored; the store keeps `id` and `hash`. */
export interface MintedApiKey {
  readonly key: string;
  readonly id: string;
  readonly hash: Buffer;
}

/** A key whose form and checksum are right; whether it exists is the store's answer. */
export interface ParsedApiKey {
  readonly id: string;
  readonly hash: Buffer;
}

function randomWord(length: number): string {
  let word = '';
  for (let i = 0; i < length; i++) word += ALPHABET[randomInt(ALPHABET.length)];
  return word;
}

function checksum(body: string): string {
  let rest = crc32(body);
  let word = '';
  for (let i = 0; i < CHECKSUM_LENGTH; i++) {
    word = (ALPHABET[rest % ALPHABET.length] ?? '') + word;
    rest = Math.floor(rest / ALPHABET.length);
  }
  return word;
}

/** SHA-256 of the whole key. The secret has 190 random bits, so a slow hash would protect nothing. */
export function apiKeyHash(key: string): Buffer {
  return createHash('sha256').update(key, 'utf8').digest();
}

/** Makes a key of the form `apk_<id 12>_<secret 32><crc32 6>`, all base62. The checksum covers all before it. */
export function mintApiKey(): MintedApiKey {
  const id = randomWord(ID_LENGTH);
  const body = `apk_${id}_${randomWord(SECRET_LENGTH)}`;
  const key = body + checksum(body);
  return { key, id, hash: apiKeyHash(key) };
}

/**
 * Reads a key as it came in a header. The checksum lets a typing mistake or a truncated key fail without a database
 * query, and lets scanners distinguish a real key from look-alikes; it is no proof of anything.
 * @returns undefined for everything that cannot be a key
 */
export function parseApiKey(text: string): ParsedApiKey | undefined {
  const match = FORM.exec(text);
  const id = match?.[1];
  if (id === undefined || checksum(text.slice(0, -CHECKSUM_LENGTH)) !== match?.[3]) return undefined;
  return { id, hash: apiKeyHash(text) };
}

/** Compares two hashes in constant time. */
export function sameHash(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}
