import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { ensureSecretFile } from './secret-file.js';

const KEY_BYTES = 32;
const NAME = 'encryption.key';

/**
 * The keys of the Secrets, one a line in base64; one is made on the first start. The first seals. A new key is put
 * before the others; the next start seals everything with it, and those after it may go.
 */
export async function openEncryptionKeys(folder: string): Promise<readonly Buffer[]> {
  const text = await ensureSecretFile(join(folder, NAME), () =>
    Promise.resolve(`${randomBytes(KEY_BYTES).toString('base64')}\n`),
  );
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return lines.map((line, at) => {
    const key = Buffer.from(line.trim(), 'base64');
    if (key.length !== KEY_BYTES)
      throw new Error(`line ${at + 1} of ${NAME} has ${key.length} bytes; a key is 32 bytes in base64`);
    return key;
  });
}
