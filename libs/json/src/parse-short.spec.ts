import { parseShort } from './parse-short.js';

describe('parseShort', () => {
  it('parses a text of the greatest length, and refuses a longer one', () => {
    expect(parseShort('[1,2]', 5)).toEqual([1, 2]);
    expect(() => parseShort('[1,20]', 5)).toThrow('it has 6 characters, and 5 is the most');
  });
});
