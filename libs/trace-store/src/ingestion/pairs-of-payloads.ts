import { PAIR_KIND, type PairKind, type PairKindName, type RunPair } from '../run/run-pairs.js';
import type { RunPayloads } from '../run/stored-run.js';
import { eachMember } from '../wire/json-scanner.js';
import { scalarPairs } from './scalar-pairs.js';

const OPEN_OBJECT = 0x7b;

/** Pairs are taken from these payloads. */
const SOURCES = [
  {
    name: 'metadata',
    of: ({ extra }: RunPayloads) => extra && { bytes: extra, from: metadataAt(extra) },
  },
  { name: 'input', of: ({ inputs }: RunPayloads) => inputs && { bytes: inputs, from: 0 } },
  { name: 'output', of: ({ outputs }: RunPayloads) => outputs && { bytes: outputs, from: 0 } },
] as const;

/** The pairs of a run's payloads, and the kinds that were looked for: of those asked for, the ones whose payload is given. */
export function pairsOfPayloads(
  payloads: RunPayloads,
  asked: readonly PairKindName[],
): { readonly kinds: readonly PairKind[]; readonly pairs: readonly RunPair[] } {
  const kinds: PairKind[] = [];
  const pairs: RunPair[] = [];
  for (const { name, of } of SOURCES) {
    if (!asked.includes(name)) continue;
    const kind = PAIR_KIND[name];
    const source = of(payloads);
    if (!source) continue;
    kinds.push(kind);
    if (source.from === undefined) continue;
    for (const { key, value } of scalarPairs(source.bytes, source.from)) pairs.push({ kind, key, value });
  }
  return { kinds, pairs };
}

/** Where the value of `metadata` begins. */
function metadataAt(extra: Buffer): number | undefined {
  if (extra[0] !== OPEN_OBJECT) return undefined;
  let at: number | undefined;
  eachMember(extra, 0, (name, { start }) => {
    if (name === 'metadata') at = start;
  });
  return at;
}
