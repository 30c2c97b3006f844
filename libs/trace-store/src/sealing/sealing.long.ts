import { describe, it } from '@jest/globals';
import { sequencePlayer } from '../../testdata/lake-sequences.js';

/** Parts of the 10,000 sequences; each has the time limit of one test. */
const PARTS = Array.from({ length: 100 }, (_part, at) => at + 1);

describe('sealing, at length', () => {
  const play = sequencePlayer();

  it.each(PARTS)('keeps every payload once through changes, deletions and workers that die, part %d', () =>
    play(100),
  );
});
