import { describe, expect, it } from '@jest/globals';
import { Expander } from './environment.js';

describe('Expander', () => {
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
    expect(new Expander().expand(text, { A: '1' })).toBe(expected);
  });

  it('ends before few lines become more text than the node has memory for', () => {
    const expander = new Expander();
    const values: Record<string, string> = { V0: 'x'.repeat(1_000) };
    const grow = (): void => {
      for (let at = 0; at < 30; at++) values[`V${at + 1}`] = expander.expand(`$(V${at})$(V${at})`, values);
    };
    expect(grow).toThrow(/more text than a process can be given/);
    expect(Object.values(values).join('').length).toBeLessThan(8 * 1024 * 1024);
  });

  it('counts all texts of a container together', () => {
    const expander = new Expander(10);
    expect(expander.expand('$(A)$(A)', { A: '12345' })).toBe('1234512345');
    expect(() => expander.expand('$(A)', { A: '1' })).toThrow(/put in by \$\(A\)/);
  });
});
