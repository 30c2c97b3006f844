import { describe, it } from '@jest/globals';
import { sequencePlayer } from '../../testdata/lake-sequences.js';

describe('sealing', () => {
  const play = sequencePlayer();

  it('keeps every payload once through changes, deletions and workers that die', () => play(10));
});
