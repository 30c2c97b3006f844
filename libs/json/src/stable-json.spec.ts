import { stableJson } from './stable-json.js';

describe('stableJson', () => {
  it('orders fields by name at every depth and leaves undefined ones out', () => {
    expect(stableJson({ b: [{ d: 1, c: undefined }, undefined], a: 'x' })).toBe(
      '{"a":"x","b":[{"d":1},null]}',
    );
  });
});
