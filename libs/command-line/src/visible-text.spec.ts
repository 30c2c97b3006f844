import { describe, expect, it } from '@jest/globals';
import { visibleLine, visibleText } from './render-table.js';

const ESC = '\u001b';

describe('visibleText', () => {
  it('shows what a terminal would obey', () => {
    expect(visibleText(`a${ESC}[31m\tb\nc\u009b2J\u202e`)).toBe('a\\u001b[31m\tb\nc\\u009b2J\\u202e');
  });
});

describe('visibleLine', () => {
  it.each([
    ['colours, which it ends', `${ESC}[1;31mred${ESC}[0m`, `${ESC}[1;31mred${ESC}[0m${ESC}[0m`],
    ['a clipboard that is written', `${ESC}]52;c;cm0gLXJm\u0007x`, '\\u001b]52;c;cm0gLXJm\\u0007x'],
    ['a screen that is cleared', `a${ESC}[2J${ESC}[Hb`, 'a\\u001b[2J\\u001b[Hb'],
    ['a line that is written over', 'bad\rgood', 'bad\\u000dgood'],
    ['a colour of the other alphabet', 'a\u009b31mb', 'a\\u009b31mb'],
    ['plain text', 'a\tb', 'a\tb'],
  ])('renders %s', (_, line, shown) => {
    expect(visibleLine(line)).toBe(shown);
  });
});
