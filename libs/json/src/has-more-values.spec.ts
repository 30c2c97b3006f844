import { hasMoreValues } from './has-more-values.js';

describe('hasMoreValues', () => {
  it('counts what commas separate, those of texts left out', () => {
    const json = JSON.stringify([{}, { a: ',,,', '\\",': [1, 2] }, 'x', '","']);
    expect([hasMoreValues(json, 4), hasMoreValues(json, 5), hasMoreValues(json, 6)]).toEqual([
      true,
      false,
      false,
    ]);
  });
});
