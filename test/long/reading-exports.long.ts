import { spawnSync } from 'node:child_process';
import { describeReaders } from '../readers/reader-suite.js';
import { READERS_PYTHON } from '../readers/run-lines.js';

/** Too large for every change: `bash test/readers/install-python.sh FOLDER requirements-long.txt`. */
const READERS = [
  ['ClickHouse', 'clickhouse', 'import chdb'],
  ['Spark', 'pyspark', 'import pyspark, shutil, sys; sys.exit(shutil.which("java") is None)'],
] as const;

for (const [name, language, program] of READERS) {
  const isThere = spawnSync(READERS_PYTHON, ['-c', program]).status === 0;
  if (!isThere) process.stderr.write(`AGENTPLANE_READERS_PYTHON has no ${name}: its lines are left out\n`);
  (isThere ? describe : describe.skip)(`the page about reading exports, in ${name}`, () =>
    describeReaders([language]),
  );
}
