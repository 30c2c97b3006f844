import { encodeFrames, FrameError, FrameReader, type Frame } from './frame.js';

const FRAME = { kind: 1, id: 2, head: '{}', body: 'x'.repeat(1_000) };

/** Frames with their bodies as texts. */
function asSent(frames: readonly Frame[]): Frame<string>[] {
  return frames.map((frame) => ({ ...frame, body: frame.body.toString() }));
}

describe('FrameReader', () => {
  it.each([1, 1_000, 65_536, 150_000])('makes frames of bytes in pieces of %i', (size) => {
    const large = { ...FRAME, body: 'ä'.repeat(100_000) };
    const sent = [FRAME, FRAME, large, FRAME, large, large, { ...FRAME, body: '' }];
    const bytes = encodeFrames(size === 1 ? sent.slice(0, 2) : sent);
    const reader = new FrameReader();
    const found: Frame<string>[] = [];
    for (let at = 0; at < bytes.length; at += size)
      found.push(...asSent(reader.read(bytes.subarray(at, at + size))));
    expect(found).toEqual(size === 1 ? sent.slice(0, 2) : sent);
  });

  it('refuses a frame above its limit once the length of it arrives', () => {
    const [small, large] = [encodeFrames([FRAME]), encodeFrames([{ ...FRAME, body: 'x'.repeat(2_000) }])];
    const reader = new FrameReader(1_500);
    expect(asSent(reader.read(small))).toEqual([FRAME]);
    expect(() => reader.read(large.subarray(0, 4))).toThrow(
      new FrameError('a frame of 2015 bytes was announced; the limit is 1500'),
    );
  });
});
