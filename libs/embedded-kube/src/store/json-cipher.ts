import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { keyText, type ResourceKey } from './resource-key.js';

const PREFIX = 'aes256gcm:v1:';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const ENCRYPTED = new Set(['secrets']);

/**
 * What the database gets to see of an object: Secrets are encrypted (AES-256-GCM) and bound to their key, so that the
 * text of one Secret cannot be put in the place of another; everything else is plain JSON.
 */
export class JsonCipher {
  readonly #key: Buffer;

  /** @param key 32 bytes */
  constructor(key: Buffer) {
    if (key.length !== 32) throw new Error(`the encryption key must have 32 bytes, it has ${key.length}`);
    this.#key = key;
  }

  seal(key: ResourceKey, json: string): string {
    if (!ENCRYPTED.has(key.resource)) return json;
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonce).setAAD(Buffer.from(keyText(key)));
    const body = Buffer.concat([cipher.update(json, 'utf8'), cipher.final()]);
    return PREFIX + Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64');
  }

  /** Throws when the text was changed, belongs to another key, or was sealed with another encryption key. */
  open(key: ResourceKey, sealed: string): string {
    if (!sealed.startsWith(PREFIX)) return sealed;
    const bytes = Buffer.from(sealed.slice(PREFIX.length), 'base64');
    const decipher = createDecipheriv('aes-256-gcm', this.#key, bytes.subarray(0, NONCE_BYTES))
      .setAAD(Buffer.from(keyText(key)))
      .setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
    try {
      const body = bytes.subarray(NONCE_BYTES + TAG_BYTES);
      return Buffer.concat([decipher.update(body), decipher.final()]).toString('utf8');
    } catch (cause) {
      throw new Error(`cannot decrypt ${keyText(key)}: wrong encryption key or damaged row`, { cause });
    }
  }
}
