import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

const BYTES = 16;
/** Random bits come first, with version and variant of a UUID among them; the rest is their signature. */
const RANDOM_BYTES = 8;
/** Variant and the first bits of the signature share a byte. */
const VARIANT = 0x80;
const REST = 0x3f;

/** The last eight bytes of the UUID of these random ones. */
function signatureOf(random: Buffer, key: Buffer): Buffer {
  const mac = createHmac('sha256', key)
    .update(random)
    .digest()
    .subarray(0, BYTES - RANDOM_BYTES);
  mac.writeUInt8((mac.readUInt8(0) & REST) | VARIANT, 0);
  return mac;
}

/**
 * A token that is a UUID, which the clients require: 60 random bits and the first 62 bits of their HMAC.
 * Without the key 122 bits have to be guessed; with it, the token alone shows that it was signed.
 */
export function makeToken(key: Buffer): string {
  const random = randomBytes(RANDOM_BYTES);
  random.writeUInt8((random.readUInt8(6) & 0x0f) | 0x40, 6);
  return Buffer.concat([random, signatureOf(random, key)])
    .toString('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

/** True when a UUID was made with this key. */
export function isSignedToken(token: string, key: Buffer): boolean {
  const bytes = Buffer.from(token.replaceAll('-', ''), 'hex');
  if (bytes.length !== BYTES) return false;
  return timingSafeEqual(bytes.subarray(RANDOM_BYTES), signatureOf(bytes.subarray(0, RANDOM_BYTES), key));
}
