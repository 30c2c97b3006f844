import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Difference } from './find-differences.js';

/** Differences that stay, for one reason. */
export interface ListedDifferences {
  /** Of all of them. */
  readonly why: string;
  /** The side that has something where the other has nothing; without it, both may have something. */
  readonly only?: 'ours' | 'reference';
  /** `scenario › step › place` of each; `*` stands for any text. */
  readonly where: readonly string[];
}

/** One of them. */
export interface ListedDifference extends Pick<ListedDifferences, 'only'> {
  readonly where: string;
}

/** As `docs/reference/langgraph-api-differences.md` shows them. */
const LISTED = JSON.parse(
  readFileSync(join(import.meta.dirname, 'listed-differences.json'), 'utf8'),
) as readonly ListedDifferences[];

export const LISTED_DIFFERENCES: readonly ListedDifference[] = LISTED.flatMap(({ only, where }) =>
  where.map((one) => ({ where: one, ...(only ? { only } : {}) })),
);

/** Whether a difference is one that stays. */
export function isListed({ where, ours, reference }: Difference, listed: ListedDifference): boolean {
  if (listed.only === 'ours' && (ours === undefined || reference !== undefined)) return false;
  if (listed.only === 'reference' && (reference === undefined || ours !== undefined)) return false;
  return patternOf(listed.where).test(where);
}

const patterns = new Map<string, RegExp>();

function patternOf(glob: string): RegExp {
  let pattern = patterns.get(glob);
  if (!pattern) {
    const parts = glob.split('*').map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&'));
    pattern = new RegExp(`^${parts.join('.*')}$`, 's');
    patterns.set(glob, pattern);
  }
  return pattern;
}
