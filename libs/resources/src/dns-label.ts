import { createHash } from 'node:crypto';

const MAX_STEM = 50;
const USABLE = /^[a-z]([-a-z0-9]*[a-z0-9])?$/;
const LOOKS_HASHED = /-[0-9a-f]{6}$/;

/**
 * A DNS label (RFC 1035, at most 57 characters) for any name: lower case, other characters become `-`, cut at 50. When
 * anything had to change, `-` and six hex digits of SHA-256(name) follow, so that `My agent` and `my-agent` stay two.
 * A name that already ends like that gets digits too: otherwise it could be taken for another name's label.
 */
export function dnsLabel(name: string): string {
  if (name.length <= MAX_STEM && USABLE.test(name) && !LOOKS_HASHED.test(name)) return name;
  const stem = name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^[^a-z]+/, '')
    .slice(0, MAX_STEM)
    .replace(/-+$/, '');
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 6);
  // the label of a Service must begin with a letter
  return `${stem === '' ? 'x' : stem}-${hash}`;
}
