import { mouseNamesOf } from '../screen/use-session.js';

describe('mouseNamesOf', () => {
  it.each([
    ['\u001b[<0;10;5M', ['click-5']],
    ['\u001b[<0;10;5M\u001b[<0;10;5m', ['click-5']],
    ['\u001b[<64;1;1M\u001b[<65;1;200M', ['wheelup', 'wheeldown']],
    ['\u001b[<2;10;5M', []],
    ['[<0;10;5M', []],
    ['j', []],
  ])('reads %j as %j', (input, expected) => {
    expect(mouseNamesOf(input)).toEqual(expected);
  });
});
