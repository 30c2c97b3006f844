import { createHash } from 'node:crypto';

/** A uuid that is always the same for the same words: what is made again after a crash gets the id it had. */
export function derivedUuid(...words: readonly (string | number)[]): string {
  const hex = createHash('sha256').update(JSON.stringify(words)).digest('hex');
  const variant = ((Number.parseInt(hex.slice(16, 17), 16) & 0x3) | 0x8).toString(16);
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    variant + hex.slice(17, 20),
    hex.slice(20, 32),
  ].join('-');
}
