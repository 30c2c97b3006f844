import { describe, it } from '@jest/globals';
import { sequencePlayer } from '../../testdata/lake-sequences.js';

/** Parts of the 10,000 sequences, each with a database of its own: every sequence leaves rows, which slow down the next. */
const PARTS = Array.from({ length: 100 }, (_part, at) => at + 1);

describe.each(PARTS)('sealing, part %d of 100', () => {
  const play = sequencePlayer();

  it('keeps every payload once through changes, deletions and workers that die', () => play(100));
});
