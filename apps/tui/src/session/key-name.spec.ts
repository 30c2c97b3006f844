import type { Key } from 'ink';
import { keyNamesOf } from '../screen/use-session.js';

const NONE = {} as Key;

describe('keyNamesOf', () => {
  it('takes a line feed for Enter, which it is of what was typed before the terminal was raw', () => {
    expect(keyNamesOf(':q\n', NONE)).toEqual([':', 'q', 'enter']);
    expect(keyNamesOf(':q\r', NONE)).toEqual([':', 'q', 'enter']);
  });
});
