import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { keyText, type ResourceKey } from './stored-object.js';

const PREFIX = 'aes256gcm:v1:';
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const ENCRYPTED = new Set(['secrets']);

/**
 * Form of an object in the database: Secrets are encrypted (AES-256-GCM) and bound to their key, so that the
 * text of one Secret cannot be put in the place of another; everything else is plain JSON.
 */
export class JsonCipher {
  /** @param keys of 32 bytes each: the first one seals, all of them open */
  constructor(private readonly keys: readonly Buffer[]) {
    if (keys.length === 0) throw new Error('there is no encryption key');
    for (const { length } of keys)
      if (length !== KEY_BYTES) throw new Error(`an encryption key must have 32 bytes, one has ${length}`);
  }

  /** True when something may be sealed with another key than the first. */
  get hasFormerKeys(): boolean {
    return this.keys.length > 1;
  }

  seal(key: ResourceKey, json: string): string {
    if (!ENCRYPTED.has(key.resource)) return json;
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#sealing, nonce).setAAD(Buffer.from(keyText(key)));
    const body = Buffer.concat([cipher.update(json, 'utf8'), cipher.final()]);
    return PREFIX + Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64');
  }

  /** Throws when the text was changed, belongs to another key, or was sealed with none of the encryption keys. */
  open(key: ResourceKey, sealed: string): string {
    if (!sealed.startsWith(PREFIX)) return sealed;
    for (const encryptionKey of this.keys) {
      const json = unseal(key, sealed, encryptionKey);
      if (json !== undefined) return json;
    }
    throw new Error(`cannot decrypt ${keyText(key)}: wrong encryption key or damaged row`);
  }

  /** @returns the text sealed with the first key; undefined where it is already, or is not sealed at all */
  reseal(key: ResourceKey, sealed: string): string | undefined {
    if (!sealed.startsWith(PREFIX) || unseal(key, sealed, this.#sealing) !== undefined) return undefined;
    return this.seal(key, this.open(key, sealed));
  }

  get #sealing(): Buffer {
    const [first] = this.keys;
    if (!first) throw new Error('there is no encryption key');
    return first;
  }
}

function unseal(key: ResourceKey, sealed: string, encryptionKey: Buffer): string | undefined {
  const bytes = Buffer.from(sealed.slice(PREFIX.length), 'base64');
  try {
    const decipher = createDecipheriv('aes-256-gcm', encryptionKey, bytes.subarray(0, NONCE_BYTES))
      .setAAD(Buffer.from(keyText(key)))
      .setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
    const body = bytes.subarray(NONCE_BYTES + TAG_BYTES);
    return Buffer.concat([decipher.update(body), decipher.final()]).toString('utf8');
  } catch {
    // the tag says that it is another key's, or damaged
    return undefined;
  }
}
