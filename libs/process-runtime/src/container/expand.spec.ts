import { describe, expect, it } from '@jest/globals';
import { expand } from './expand.js';

describe('expand', () => {
  it.each([
    ['a known name', '$(A)/x', '1/x'],
    ['an unknown name stays', '$(B)', '$(B)'],
    ['an escaped one', '$$(A)', '$(A)'],
    ['two dollars', '$$', '$'],
    ['a single dollar stays', 'cost $5', 'cost $5'],
    [
      'a name that objects of JavaScript have stays',
      '$(constructor)$(__proto__)',
      '$(constructor)$(__proto__)',
    ],
    ['two in a row', '$(A)$(A)', '11'],
  ])('%s', (_name, text, expected) => {
    expect(expand(text, { A: '1' })).toBe(expected);
  });
});
