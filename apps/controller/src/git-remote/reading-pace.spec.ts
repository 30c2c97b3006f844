import { FakeClock } from '#lib/testing';
import { ReadingPace } from './reading-pace.js';

const PIECE = 65_536;
const MEGABYTE = 1_048_576;

/** Reads lists that never end, as fast as they may be read, and answers the bytes of each in ten seconds. */
async function readFor(count: number, piece: number): Promise<readonly number[]> {
  const clock = new FakeClock();
  const pace = new ReadingPace(clock);
  const read = Array.from({ length: count }, () => 0);
  const over = new AbortController();
  const all = read.map(async (_, at) => {
    const pauseAfter = pace.begin();
    while (!over.signal.aborted) {
      read[at] = (read[at] ?? 0) + piece;
      await clock.sleep(pauseAfter(piece));
    }
  });
  await clock.advance(10_000);
  over.abort();
  await clock.advance(10_000);
  await Promise.all(all);
  return read;
}

describe('ReadingPace', () => {
  it('reads one list at 4 MB a second', async () => {
    const [bytes = 0] = await readFor(1, PIECE);
    expect(bytes / MEGABYTE).toBeGreaterThan(38);
    expect(bytes / MEGABYTE).toBeLessThan(41);
  });

  it('reads all lists at 16 MB a second, each its part', async () => {
    const read = await readFor(16, PIECE);
    expect(read.reduce((sum, bytes) => sum + bytes, 0) / MEGABYTE).toBeLessThan(162);
    for (const bytes of read) expect(bytes / MEGABYTE).toBeGreaterThan(9);
  });

  it('lets a short list pass without a pause', () => {
    expect(new ReadingPace(new FakeClock()).begin()(20_000)).toBe(0);
  });

  it('counts pieces beside their bytes', () => {
    const pauseAfter = new ReadingPace(new FakeClock()).begin();
    let ms = 0;
    for (let at = 0; at < 10_000; at++) ms = pauseAfter(1);
    expect(ms).toBeGreaterThan(4_800);
  });
});
