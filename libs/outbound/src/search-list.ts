/** Settings of `resolv.conf` for names that are not fully qualified. */
export interface SearchList {
  readonly domains: readonly string[];
  /** Names with fewer dots are looked for below the domains first. */
  readonly ndots: number;
}

/** Limit of resolvers; further domains are cut off. */
const MAX_DOMAINS = 6;
const MAX_NDOTS = 15;

/** The last `search` or `domain` counts. */
export function parseSearchList(text: string): SearchList {
  let domains: readonly string[] = [];
  let ndots = 1;
  for (const line of text.split('\n')) {
    const [word, ...values] = line
      .replace(/[#;].*/, '')
      .trim()
      .split(/\s+/);
    if (word === 'search' || word === 'domain')
      domains = values
        .map((domain) => domain.toLowerCase().replace(/^\.+|\.+$/g, ''))
        .filter((domain) => domain !== '')
        .slice(0, MAX_DOMAINS);
    if (word !== 'options') continue;
    const given = values
      .map((value) => /^ndots:(\d+)$/.exec(value)?.[1])
      .find((digits) => digits !== undefined);
    if (given !== undefined) ndots = Math.min(Number(given), MAX_NDOTS);
  }
  return { domains, ndots };
}

/** The fully qualified candidates for a name, in the order in which they are asked for. */
export function wholeNames(given: string, { domains, ndots }: SearchList): readonly string[] {
  const name = given.replace(/\.+$/, '');
  if (given.endsWith('.')) return [name];
  const below = domains.map((domain) => `${name}.${domain}`);
  return name.split('.').length - 1 >= ndots ? [name, ...below] : [...below, name];
}
