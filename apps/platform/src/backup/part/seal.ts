import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes, scryptSync } from 'node:crypto';

/** Derivation of a backup's key from its passphrase. Nothing of it is secret. */
export interface KeyRecord {
  readonly kdf: 'scrypt';
  /** Hex. */
  readonly salt: string;
  readonly cost: number;
  readonly blockSize: number;
  /** Hex; tells a wrong passphrase from a damaged part. */
  readonly check: string;
}

/** Hides and proves pieces of parts; without a passphrase they are kept as they are. */
export interface Seal {
  /** Bytes that a piece grows by. */
  readonly overhead: number;
  close(piece: Buffer, index: number): Buffer;
  /** @throws Error when another piece was sealed at this place */
  open(sealed: Buffer, index: number): Buffer;
}

const TAG_BYTES = 16;
const COST = 2 ** 17;
const BLOCK_SIZE = 8;

export const PLAIN: Seal = { overhead: 0, close: (piece) => piece, open: (piece) => piece };

/** The key of a backup that is encrypted. */
export class BackupKey {
  readonly record: KeyRecord;
  readonly #key: Buffer;

  private constructor(record: Omit<KeyRecord, 'check'>, passphrase: string) {
    const { salt, cost, blockSize } = record;
    this.#key = scryptSync(passphrase, Buffer.from(salt, 'hex'), 32, {
      N: cost,
      r: blockSize,
      maxmem: 256 * cost * blockSize,
    });
    this.record = { ...record, check: this.prove('check') };
  }

  static make(passphrase: string): BackupKey {
    const salt = randomBytes(16).toString('hex');
    return new BackupKey({ kdf: 'scrypt', salt, cost: COST, blockSize: BLOCK_SIZE }, passphrase);
  }

  /** @throws Error when the passphrase is another */
  static open({ check, ...record }: KeyRecord, passphrase: string): BackupKey {
    if (record.cost > COST * 8 || record.blockSize > BLOCK_SIZE)
      throw new Error(
        'the key of this backup takes more work than any that this program makes; use a newer one',
      );
    const key = new BackupKey(record, passphrase);
    if (key.record.check !== check)
      throw new Error('the passphrase is not that of this backup; name its file with --passphrase-file');
    return key;
  }

  /** Proof of the text, hex; it cannot be made without the key. */
  prove(text: string): string {
    return createHmac('sha256', this.#key).update(text).digest('hex');
  }

  /**
   * AES-256-GCM with a key for each part and the place as nonce: a piece of another part, of another place or of
   * another backup does not open. @param id random, new whenever the part is written
   */
  sealOf(part: string, id: string): Seal {
    const key = Buffer.from(hkdfSync('sha256', this.#key, Buffer.from(id, 'hex'), part, 32));
    const nonceOf = (index: number): Buffer => {
      const nonce = Buffer.alloc(12);
      nonce.writeUInt32BE(index, 8);
      return nonce;
    };
    return {
      overhead: TAG_BYTES,
      close(piece, index) {
        const cipher = createCipheriv('aes-256-gcm', key, nonceOf(index));
        return Buffer.concat([cipher.update(piece), cipher.final(), cipher.getAuthTag()]);
      },
      open(sealed, index) {
        const decipher = createDecipheriv('aes-256-gcm', key, nonceOf(index));
        decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
        return Buffer.concat([decipher.update(sealed.subarray(0, -TAG_BYTES)), decipher.final()]);
      },
    };
  }
}
