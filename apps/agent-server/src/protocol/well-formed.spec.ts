import { wellFormed } from './frame.js';

describe('wellFormed', () => {
  it.each<[string, unknown, unknown]>([
    ['the first half of a pair', { 'a\ud800': ['\udbffb'] }, { 'a\ufffd': ['\ufffdb'] }],
    ['the second half of a pair', 'é\udc00\udfff', 'é\ufffd\ufffd'],
    ['halves behind backslashes', ['\\\ud800', '\\\\\ud800'], ['\\\ufffd', '\\\\\ufffd']],
    [
      'no text that looks like an escape',
      ['\\ud800', '\\\\ud800', '\ud800'],
      ['\\ud800', '\\\\ud800', '\ufffd'],
    ],
    [
      'no pair and no other escape',
      ['😀\ud7ff\ue000\u0000"\n', '\ud800'],
      ['😀\ud7ff\ue000\u0000"\n', '\ufffd'],
    ],
  ])('replaces %s', (_title, given, expected) => {
    expect(JSON.parse(wellFormed(JSON.stringify(given)).toString())).toEqual(expected);
  });

  it('leaves any other text as it is', () => {
    expect(wellFormed('{"a":"\\u0000\\\\"}')).toBe('{"a":"\\u0000\\\\"}');
  });
});
