// The order of spec files: those that share a platform come first, since one that waits takes some 3 % of a processor and
// is stopped after the last of them. Otherwise those that take longest come first, so that no long one is left over at the
// end, when the other processes have nothing to do. test/durations.json has the seconds of those of more than five.
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import Sequencer from '@jest/test-sequencer';

/** True for a spec file that uses the platform of its process, which the first of them starts. */
export function usesSharedPlatform(path) {
  return readFileSync(path, 'utf8').includes('sharedPlatform(');
}

/**
 * Processes that start a platform while there are other files to run. Four platforms that start at once keep two
 * processors busy for most of a minute, and each that waits takes some 3 % of one.
 */
const PLATFORMS = 2;

/** Takes the next file of a process out of the queue, by the number of the process; undefined when none is left. */
export function takeNext(queue, lane, needsPlatform) {
  const other = lane < PLATFORMS ? -1 : queue.findIndex((test) => !needsPlatform(test));
  return queue.splice(Math.max(0, other), 1)[0];
}

export default class LongestFirst extends Sequencer {
  sort(tests) {
    const seconds = JSON.parse(readFileSync('test/durations.json', 'utf8'));
    const files = tests.map((test) => ({
      test,
      needsPlatform: usesSharedPlatform(test.path),
      seconds: seconds[relative('', test.path)] ?? 0,
    }));
    // the sort is stable: all others go by folder, so that neighbours meet the modules that they share
    files.sort((one, other) => (one.test.path < other.test.path ? -1 : 1));
    files.sort((one, other) => other.needsPlatform - one.needsPlatform || other.seconds - one.seconds);
    return files.map(({ test }) => test);
  }
}
