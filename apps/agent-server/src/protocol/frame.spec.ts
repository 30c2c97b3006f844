import { encodeFrames, FrameError, FrameReader } from './frame.js';

const FRAME = { kind: 1, id: 2, head: '{}', body: 'x'.repeat(1_000) };

describe('FrameReader', () => {
  it('makes frames of bytes in any pieces', () => {
    const bytes = encodeFrames([FRAME, FRAME]);
    const reader = new FrameReader();
    const found = [...bytes].flatMap((byte) => reader.read(Buffer.from([byte])));
    expect(found).toEqual([FRAME, FRAME]);
  });

  it('refuses a frame above its limit once the length of it arrives', () => {
    const [small, large] = [encodeFrames([FRAME]), encodeFrames([{ ...FRAME, body: 'x'.repeat(2_000) }])];
    const reader = new FrameReader(1_500);
    expect(reader.read(small)).toEqual([FRAME]);
    expect(() => reader.read(large.subarray(0, 4))).toThrow(
      new FrameError('a frame of 2015 bytes was announced; the limit is 1500'),
    );
  });
});
