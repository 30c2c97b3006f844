import { describe, expect, it } from '@jest/globals';
import { ProcessTree, type TreeProcess } from './memory-watch.js';

describe('ProcessTree', () => {
  it('finds the group of a leader, and what descends from it or from the group', () => {
    const tree = new ProcessTree();
    const all = [
      [10, 1, 10],
      [11, 10, 11],
      [5, 11, 5], // its number began anew
      [12, 1, 10],
      [13, 12, 13],
      [14, 1, 14],
    ] as const;
    for (const [pid, parent, group] of all) tree.add({ pid, parent, group });
    expect([...tree.below(10)].sort((a, b) => a - b)).toEqual([5, 10, 11, 12, 13]);
    expect([...tree.below(99)]).toEqual([99]);
  });

  it('reads each process once, however deep they are and whatever is asked of it', () => {
    let reads = 0;
    const deep = (pid: number): TreeProcess => ({
      pid,
      get parent() {
        reads++;
        return pid + 1;
      },
      group: 0,
    });
    const tree = new ProcessTree();
    for (let pid = 1; pid <= 20_000; pid++) tree.add(deep(pid));
    const found = Array.from({ length: 100 }, () => tree.below(20_000).size);
    expect([reads, new Set(found)]).toEqual([20_000, new Set([20_000])]);
  });
});
