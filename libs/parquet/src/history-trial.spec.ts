import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { FrameStream } from './frame-stream.js';
import { HistoryTrial } from './history-trial.js';

const MIB = 1 << 20;

/** Text that compresses by half; the same for the same seed. */
function text(seed: string, bytes: number): Buffer {
  const pieces = Array.from({ length: Math.ceil(bytes / 64) }, (_, n) =>
    createHash('sha256').update(`${seed}${n}`).digest('hex'),
  );
  return Buffer.from(pieces.join('').slice(0, bytes));
}

/** What nobody has sent before. */
const news = (): Buffer[] => Array.from({ length: 10 }, (_, n) => text(`news ${n}`, MIB));

/** Forty histories in turns, each with a little more each time. */
function histories(): Buffer[] {
  const all = Array.from({ length: 40 }, (_, n) => text(`history ${n}`, 20_000));
  const pieces: Buffer[] = [];
  for (let turn = 0; turn < 12; turn++)
    pieces.push(Buffer.concat(all.map((history, n) => Buffer.concat([history, text(`${turn} ${n}`, 300)]))));
  return pieces;
}

/** Whether a page that looks back, or does not, had better be compressed the other way. */
async function isOtherBetter(looksBack: boolean, pieces: readonly Buffer[]): Promise<boolean> {
  let made = 0;
  const page = new FrameStream(looksBack, (piece) => (made += piece.length));
  const trial = new HistoryTrial(looksBack);
  for (const piece of pieces) {
    await page.write(piece);
    await trial.write(piece, made);
  }
  page.close();
  trial.close();
  return trial.isBetter;
}

describe('the trial of a page', () => {
  it('gives up looking back where nothing comes again', async () => {
    expect(await isOtherBetter(true, news())).toBe(true);
    expect(await isOtherBetter(false, news())).toBe(false);
  });

  it('takes up looking back where histories come again', async () => {
    expect(await isOtherBetter(true, histories())).toBe(false);
    expect(await isOtherBetter(false, histories())).toBe(true);
  });

  it('goes by what comes after the first window, which has nothing to look back at', async () => {
    const late = [...news().slice(0, 2), ...histories()];
    expect(await isOtherBetter(true, late)).toBe(false);
    expect(await isOtherBetter(false, late)).toBe(true);
  });

  it('changes nothing when it has seen little', async () => {
    expect(await isOtherBetter(true, news().slice(0, 3))).toBe(false);
    expect(await isOtherBetter(false, histories().slice(0, 3))).toBe(false);
  });
});
