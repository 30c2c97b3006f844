import type { GraphLanguage } from './parse-export.js';

interface LibraryFloor {
  /** Name in the registry of the language. */
  readonly name: string;
  /** The oldest version whose graphs were seen to run right; what was tried below it answers nothing or fails each run. */
  readonly oldest: string;
}

/** Minimum versions of the packages of an agent. Everything that refuses a library asks here. */
export const LIBRARY_FLOORS: Readonly<Record<GraphLanguage, LibraryFloor>> = {
  javascript: { name: '@langchain/langgraph', oldest: '0.2.45' },
  python: { name: 'langgraph-checkpoint', oldest: '4.0.1' },
};

/** The reason why a library of an agent cannot be used; undefined for one that can. */
export function describeOldLibrary(language: GraphLanguage, version: string): string | undefined {
  const { name, oldest } = LIBRARY_FLOORS[language];
  if (!isBelow(version, oldest)) return undefined;
  return `${name} ${version} is too old for this server, its graphs would fail or answer nothing; update it to ${oldest} or newer`;
}

function isBelow(version: string, floor: string): boolean {
  const [found, least] = [version, floor].map((text) => (text.match(/\d+/g) ?? []).slice(0, 3).map(Number));
  for (const [at, number] of (least ?? []).entries())
    if ((found?.[at] ?? 0) !== number) return (found?.[at] ?? 0) < number;
  return false;
}
