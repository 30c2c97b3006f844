import { describe, expect, it } from '@jest/globals';
import { humanDuration } from './table-kind.js';

const S = 1000;
const M = 60 * S;
const H = 60 * M;
const D = 24 * H;

describe('humanDuration', () => {
  it.each([
    [-5 * S, '<invalid>'],
    [-0.5 * S, '0s'],
    [0, '0s'],
    [119.9 * S, '119s'],
    [2 * M, '2m'],
    [2 * M + 5 * S, '2m5s'],
    [10 * M + 5 * S, '10m'],
    [179 * M, '179m'],
    [3 * H, '3h'],
    [3 * H + 10 * M, '3h10m'],
    [8 * H + 10 * M, '8h'],
    [47 * H, '47h'],
    [2 * D, '2d'],
    [2 * D + 3 * H, '2d3h'],
    [8 * D + 3 * H, '8d'],
    [729 * D, '729d'],
    [730 * D, '2y'],
    [731 * D, '2y1d'],
    [365 * 9 * D, '9y'],
  ])('shows %d ms as %s', (ms, text) => {
    expect(humanDuration(ms)).toBe(text);
  });
});
