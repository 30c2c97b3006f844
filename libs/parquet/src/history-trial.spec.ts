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

/** Texts that never repeat. */
const news = (): Buffer[] => Array.from({ length: 10 }, (_, n) => text(`news ${n}`, MIB));

/** Forty histories in turns, each with a little more each time. */
function histories(): Buffer[] {
  const all = Array.from({ length: 40 }, (_, n) => text(`history ${n}`, 20_000));
  const pieces: Buffer[] = [];
  for (let turn = 0; turn < 12; turn++)
    pieces.push(Buffer.concat(all.map((history, n) => Buffer.concat([history, text(`${turn} ${n}`, 300)]))));
  return pieces;
}

/** True when looking back pays on a page of these pieces. */
async function pays(pieces: readonly Buffer[]): Promise<boolean | undefined> {
  let made = 0;
  const page = new FrameStream(true, (piece) => (made += piece.length));
  const trial = new HistoryTrial();
  for (const piece of pieces) {
    await page.write(piece);
    await trial.write(piece, made);
  }
  page.close();
  trial.close();
  return trial.pays;
}

describe('the trial of a page', () => {
  it('gives up looking back where nothing comes again', async () => {
    expect(await pays(news())).toBe(false);
  });

  it('looks back where histories come again', async () => {
    expect(await pays(histories())).toBe(true);
  });

  it('goes by what comes after the first frame, which has nothing to look back at', async () => {
    expect(await pays([...news().slice(0, 2), ...histories()])).toBe(true);
  });

  it('says nothing when it has seen little, or one huge value', async () => {
    expect(await pays(news().slice(0, 7))).toBeUndefined();
    expect(await pays(histories().slice(0, 7))).toBeUndefined();
    expect(await pays([text('huge', 9 * MIB)])).toBeUndefined();
  });
});
