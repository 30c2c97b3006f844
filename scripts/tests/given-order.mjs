// Runs spec files in the order of the command line.
import Sequencer from '@jest/test-sequencer';
import { resolve } from 'node:path';

export default class GivenOrder extends Sequencer {
  sort(tests) {
    const order = new Map(process.argv.map((path, place) => [resolve(path), place]));
    return [...tests].sort((one, other) => order.get(one.path) - order.get(other.path));
  }
}
