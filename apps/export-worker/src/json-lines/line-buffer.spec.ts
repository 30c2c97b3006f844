import fc from 'fast-check';
import { LineBuffer } from './line-buffer.js';

function taken(line: LineBuffer): Buffer {
  return Buffer.concat(line.take(true).map(({ bytes }) => Buffer.from(bytes)));
}

describe('a buffer of lines', () => {
  it('writes any text as a JSON string, wherever blocks end', () =>
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.integer({ min: 0, max: 40 }), (text, before) => {
        const line = new LineBuffer();
        line.raw(Buffer.alloc((256 << 10) - before, ' '));
        const bytes = Buffer.from(`<${text}>`);
        line.text(bytes, 1, bytes.length - 2);
        expect(JSON.parse(taken(line).toString())).toBe(Buffer.from(text).toString());
      }),
    ));

  it.each([
    ['a small value', 10, false],
    ['a value larger than a block', 500_000, false],
    ['a huge value, where it lies', 1 << 20, true],
  ])('keeps the bytes of %s', (_name, size, isBorrowed) => {
    const line = new LineBuffer();
    const json = Buffer.from(` ${JSON.stringify('é'.repeat(size / 2))} `);
    line.ascii('{"a":');
    line.json(json, 1, json.length - 2);
    line.ascii('}');
    const pieces = line.take(true);
    expect(pieces.some((piece) => piece.isBorrowed)).toBe(isBorrowed);
    const text = Buffer.concat(pieces.map(({ bytes }) => Buffer.from(bytes))).toString();
    expect(text).toBe(`{"a":${json.toString().trim()}}`);
  });

  it('has blanks for the line breaks between the tokens of a value', () => {
    const line = new LineBuffer();
    const json = Buffer.from('{\r\n  "a\\n": [1,\n2]\n}');
    line.json(json, 0, json.length);
    expect(taken(line).toString()).toBe('{    "a\\n": [1, 2] }');
    expect(json.includes('\n')).toBe(true);
  });

  it('uses a block again that was given back', () => {
    const line = new LineBuffer();
    const lines = (): Buffer => {
      for (let n = 0; n < 27_000; n++) line.ascii('0123456789');
      const [piece] = line.take();
      if (!piece) throw new Error('no block was full');
      line.give(piece);
      return piece.bytes;
    };
    const [one, , other] = [lines(), lines(), lines()];
    expect(other.buffer === one.buffer).toBe(true);
  });
});
