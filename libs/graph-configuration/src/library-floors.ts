import type { GraphLanguage } from './parse-export.js';

export interface LibraryFloor {
  /** Name in the registry of the language. */
  readonly name: string;
  /** The oldest version whose graphs were seen to run right; older ones were not tried, or fail. */
  readonly oldest: string;
  /** The newest version that was tried. */
  readonly newest: string;
}

/** Minimum versions of the packages of an agent. Everything that refuses a library asks here. */
export const LIBRARY_FLOORS: Readonly<Record<GraphLanguage, readonly LibraryFloor[]>> = {
  javascript: [{ name: '@langchain/langgraph', oldest: '0.2.5', newest: '1.7.3' }],
  python: [
    { name: 'langgraph', oldest: '0.4.1', newest: '1.2.24' },
    { name: 'langgraph-checkpoint', oldest: '2.0.26', newest: '4.3.2' },
  ],
};

/** The reason why a library of an agent cannot be used; undefined for one that can. */
export function describeOldLibrary({ name, oldest }: LibraryFloor, version: string): string | undefined {
  if (!isOlder(version, oldest)) return undefined;
  return `${name} ${version} is too old for this server, its graphs would fail or answer nothing; update it to ${oldest} or newer`;
}

/** True when a version is below another, by their first three numbers. */
export function isOlder(version: string, than: string): boolean {
  const [found, least] = [version, than].map((text) => (text.match(/\d+/g) ?? []).slice(0, 3).map(Number));
  for (const [at, number] of (least ?? []).entries())
    if ((found?.[at] ?? 0) !== number) return (found?.[at] ?? 0) < number;
  return false;
}
