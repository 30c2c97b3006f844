import { describe, expect, it } from '@jest/globals';
import type { AgentDeployment } from '#lib/resources';
import { claimHost } from './summarize.js';
import { deployment } from './testdata/sample-world.js';

const HOST = 'weather.agents.test';

/** Asks for the host; `holds` when its status has it. */
function asking(year: number, holds = false): AgentDeployment {
  return deployment(
    { sourceConfig: { customUrl: `https://${HOST.toUpperCase()}/x` } },
    { uid: `of-${year}`, creationTimestamp: `${year}-01-01T00:00:00Z` },
    holds ? { customHost: HOST } : {},
  );
}

describe('claimHost', () => {
  it.each([
    ['gives a free host', asking(2026), [], HOST],
    [
      'keeps a host from an older deployment that asks for it later',
      asking(2026, true),
      [asking(2020)],
      HOST,
    ],
    ['refuses the host of a younger deployment', asking(2020), [asking(2026, true)], undefined],
    ['gives a free host to the oldest', asking(2020), [asking(2026)], HOST],
    ['keeps a free host for an older one', asking(2026), [asking(2020)], undefined],
    ['leaves the older of two holders the host', asking(2020, true), [asking(2026, true)], HOST],
    ['takes it from the younger', asking(2026, true), [asking(2020, true)], undefined],
    ['gives none without a custom URL', deployment(), [], undefined],
  ])('%s', (_name, own, hostRivals, expected) => {
    expect(claimHost({ deployment: own, hostRivals })).toBe(expected);
  });
});
