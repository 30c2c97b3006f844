import { spawnSync } from 'node:child_process';
import { describe } from '@jest/globals';
import { describeReaders } from './reader-suite.js';
import { READERS_PYTHON } from './run-lines.js';

const hasPython = spawnSync(READERS_PYTHON, ['-c', 'import pandas, polars, pyarrow']).status === 0;

describe('the page about reading exports', () => describeReaders(['sql', 'js']));
(hasPython ? describe : describe.skip)('the page about reading exports, in Python', () =>
  describeReaders(['python']),
);
