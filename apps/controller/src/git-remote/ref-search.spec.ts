import { jest } from '@jest/globals';
import { RefSearch } from './find-commit.js';

const [ONE, TWO] = ['1'.repeat(40), '2'.repeat(64)];

function lines(...texts: readonly string[]): Buffer {
  return Buffer.from(
    texts
      .map((text) => (text === '' ? '0000' : (text.length + 4).toString(16).padStart(4, '0') + text))
      .join(''),
  );
}

describe('RefSearch', () => {
  const head = ['# service=git-upload-pack\n', ''];
  const search = (wanted: string, ...texts: readonly string[]): RefSearch => {
    const found = new RefSearch(wanted);
    found.push(lines(...head, ...texts));
    return found;
  };

  it.each([
    ['finds a branch behind what the host can do', 'HEAD', [`${ONE} HEAD\0multi_ack`], ONE],
    ['finds a ref with an id of SHA-256', 'refs/heads/a', [`${TWO} refs/heads/a\n`], TWO],
    [
      'takes the commit of an annotated tag',
      'refs/tags/a',
      [`${TWO} refs/tags/a\n`, `${ONE} refs/tags/a^{}\n`],
      ONE,
    ],
    ['takes no longer name', 'refs/heads/a', [`${ONE} refs/heads/ab\n`, ''], undefined],
    ['takes no text for an id', 'refs/heads/a', [`${'x'.repeat(40)} refs/heads/a\n`, ''], undefined],
  ])('%s', (_, wanted, texts, expected) => {
    expect(search(wanted, ...texts).commit).toBe(expected);
  });

  it('copies each byte once, in however small pieces it comes', () => {
    const all = lines(...head, `${ONE} refs/heads/${'b'.repeat(60_000)}\n`, `${ONE} refs/heads/a\n`);
    const found = new RefSearch('refs/heads/a');
    const concat = jest.spyOn(Buffer, 'concat');
    for (let at = 0; at < all.length; at++) found.push(all.subarray(at, at + 1));
    const copied = concat.mock.results.reduce((sum, { value }) => sum + (value as Buffer).length, 0);
    concat.mockRestore();
    expect(found.commit).toBe(ONE);
    expect(copied).toBeLessThan(2 * all.length);
  });

  it.each([
    ['the end of the second part', [''], true],
    ['an empty line', ['0004'], false],
    ['a second name of the service', ['# service=git-upload-pack\n'], true],
    ['a line that names no ref', [`shallow ${ONE}`], true],
    ['a short line that names no ref', ['ERR no such repository'], false],
  ])('ends at %s', (_, texts, isOfGit) => {
    const found = new RefSearch('HEAD');
    found.push(lines(...head));
    expect(found.isOver).toBe(false);
    found.push(texts[0] === '0004' ? Buffer.from('0004') : lines(...texts));
    expect([found.isOver, found.isOfGit, found.commit]).toEqual([true, isOfGit, undefined]);
  });

  it.each(['00g4', '-001', 'fff1', '00FF'])('ends at the length %s', (length) => {
    const found = new RefSearch('HEAD');
    found.push(Buffer.from(length));
    expect([found.isOver, found.isOfGit]).toEqual([true, false]);
  });
});
