import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';

/** As `apps/platform/src/backup/part/write-part.ts` has it. */
const PIECE_BYTES = 4 << 20;

/** Databases begin as copies of one another: a window that reaches over all of them makes a sixth of it (6.2 → 1.0 MB). */
const SMALL = {
  [constants.ZSTD_c_compressionLevel]: 19,
  [constants.ZSTD_c_windowLog]: 27,
  [constants.ZSTD_c_enableLongDistanceMatching]: 1,
  [constants.ZSTD_c_checksumFlag]: 1,
};

/** Writes an unencrypted backup anew, with parts that are small rather than fast to make. */
export function packSmaller(backup, target) {
  const manifest = JSON.parse(readFileSync(join(backup, 'backup.json'), 'utf8')).backup;
  mkdirSync(target, { recursive: true });
  const parts = manifest.parts.map((part) => {
    const tar = zstdDecompressSync(readFileSync(join(backup, part.file)));
    const small = zstdCompressSync(tar, { params: SMALL });
    writeFileSync(join(target, part.file), small);
    return { ...part, bytes: small.length, pieces: piecesOf(small) };
  });
  const smaller = { ...manifest, parts };
  const proof = createHash('sha256').update(JSON.stringify(smaller)).digest('hex');
  writeFileSync(join(target, 'backup.json'), `${JSON.stringify({ backup: smaller, proof })}\n`);
}

function piecesOf(bytes) {
  const pieces = [];
  for (let at = 0; at < bytes.length; at += PIECE_BYTES)
    pieces.push(
      createHash('sha256')
        .update(bytes.subarray(at, at + PIECE_BYTES))
        .digest('hex'),
    );
  return pieces;
}
