import { describe, expect, it } from '@jest/globals';
import { endpointsTable } from './core-tables.js';

const shown = (subsets: readonly object[]): unknown =>
  endpointsTable.cells(
    { apiVersion: 'v1', kind: 'Endpoints', metadata: { name: 'a' }, subsets },
    new Date(),
  )[1];
const addresses = (...ips: readonly string[]) => ips.map((ip) => ({ ip }));
const ports = (...numbers: readonly number[]) => numbers.map((port) => ({ port }));

describe('the table of Endpoints', () => {
  it.each([
    ['<none>', []],
    ['<none>', [{ ports: ports(1, 2) }]],
    ['1.1.1.1', [{ addresses: addresses('1.1.1.1') }]],
    ['1.1.1.1:1,1.1.1.2:1', [{ addresses: addresses('1.1.1.1', '1.1.1.2'), ports: ports(1) }]],
    [
      '1.1.1.1:1,1.1.1.2:1,1.1.1.1:2 + 2 more...',
      [
        { addresses: addresses('1.1.1.1', '1.1.1.2'), ports: ports(1, 2) },
        { addresses: addresses('1.1.1.3'), ports: ports(3) },
      ],
    ],
  ])('shows %s', (expected, subsets) => {
    expect(shown(subsets)).toBe(expected);
  });

  it('makes no texts of what it only counts', () => {
    const many = Array.from({ length: 50_000 }, (_, at) => at);
    const subset = {
      addresses: many.map((at) => ({ ip: `10.0.${at >> 8}.${at & 255}` })),
      ports: ports(...many),
    };
    expect(shown([subset])).toBe('10.0.0.0:0,10.0.0.1:0,10.0.0.2:0 + 2499999997 more...');
  });
});
