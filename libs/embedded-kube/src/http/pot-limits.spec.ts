import { describe, expect, it } from '@jest/globals';
import { bodyLimits, MAX_CONNECTIONS, type PotLimits, requestLimits, WATCH_LIMITS } from './request-pots.js';

const POTS = ['users', 'nodes', 'proxy', 'listeners'] as const;
/** Connections of the platform's own programs, which are some 70. */
const OWN = 200;

describe('the table of pots', () => {
  const size = (limits: PotLimits, pot: (typeof POTS)[number]): number =>
    limits[pot].mostOfAll +
    (limits[pot].keptForLeast ?? (limits[pot].leastOfEach === undefined ? 0 : Infinity));
  const sum = (limits: PotLimits): number => POTS.reduce((all, pot) => all + size(limits, pot), 0);

  it.each([[MAX_CONNECTIONS], [300]])('leaves connections to the platform when all are full: %s', (most) => {
    expect(sum(requestLimits(most))).toBeLessThanOrEqual(most - (OWN * most) / MAX_CONNECTIONS);
  });

  it.each(POTS)('leaves room for other requests beside watches and unfinished bodies: %s', (pot) => {
    const requests = requestLimits();
    for (const part of [WATCH_LIMITS, bodyLimits()]) {
      expect(size(part, pot)).toBeLessThan(size(requests, pot));
      expect(part[pot].mostOfAll).toBeLessThan(requests[pot].mostOfAll);
      expect(part[pot].most).toBeLessThan(requests[pot].most);
      expect(part[pot].leastOfEach ?? 0).toBeLessThanOrEqual((requests[pot].leastOfEach ?? 0) / 2);
    }
  });
});
