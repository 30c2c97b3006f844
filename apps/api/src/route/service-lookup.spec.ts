import { describe, expect, it } from '@jest/globals';
import { serviceLookup } from './agent-routes.js';

describe('serviceLookup', () => {
  const look = (address: string): Promise<unknown> =>
    new Promise((resolve) => {
      const lookup = serviceLookup((_name, _options, answer) => answer(null, [{ address, family: 4 }]));
      lookup('weather.ws-a.svc', {}, (error, found) => resolve(error?.message ?? found));
    });

  it('finds the addresses of a cluster', async () => {
    expect(await look('10.96.0.7')).toBe('10.96.0.7');
  });

  it('refuses those that have the credentials of machines', async () => {
    expect(await look('169.254.169.254')).toContain('the Service leads to a link-local');
  });
});
