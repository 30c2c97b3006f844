// The order of spec files: those that take longest come first, so that no long one is left over at the end, when the
// other processes have nothing to do. test/durations.json has the seconds of those of more than five.
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import Sequencer from '@jest/test-sequencer';

export default class LongestFirst extends Sequencer {
  sort(tests) {
    const seconds = JSON.parse(readFileSync('test/durations.json', 'utf8'));
    const of = ({ path }) => seconds[relative('', path)] ?? 0;
    // the sort is stable: all others go by folder, so that neighbours meet the modules that they share
    const byPath = [...tests].sort((one, other) => (one.path < other.path ? -1 : 1));
    return byPath.sort((one, other) => of(other) - of(one));
  }
}
