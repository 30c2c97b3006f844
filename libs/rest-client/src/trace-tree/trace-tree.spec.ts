import { type ReadRun, treeRows } from './trace-tree.js';

const at = (second: number): string => `2026-11-22T10:00:${String(second).padStart(2, '0')}.000000Z`;

/** A run that began and ended at these seconds. */
function run(id: string, parent: string | null, from: number, to: number | null): ReadRun {
  return {
    id,
    trace_id: 'root',
    parent_run_id: parent,
    name: `run ${id}`,
    run_type: 'chain',
    status: 'success',
    start_time: at(from),
    end_time: to === null ? null : at(to),
    latency: to === null ? null : to - from,
    total_tokens: 0,
    total_cost: null,
    thread_id: null,
    tags: [],
    error: null,
    dotted_order: id,
  };
}

const NOW = Date.parse(at(24));

it('draws each run below its caller, in the order in which they began', () => {
  const rows = treeRows(
    [
      run('b', 'root', 12, 24),
      run('a2', 'a', 6, 8),
      run('a', 'root', 2, 8),
      run('root', null, 0, 24),
      run('a1', 'a', 2, 4),
    ],
    NOW,
  );
  expect(rows.map(({ title }) => title)).toEqual([
    'run root',
    '├─ run a',
    '│  ├─ run a1',
    '│  └─ run a2',
    '└─ run b',
  ]);
  expect(rows.map(({ bar }) => bar)).toEqual([
    '████████████████████████',
    '··██████················',
    '··██····················',
    '······██················',
    '············████████████',
  ]);
});

it('shows runs whose callers are not known, and those that have no name, at the edge', () => {
  const rows = treeRows([run('x', 'absent', 0, 1), { ...run('y', null, 1, 2), name: '' }], NOW);
  expect(rows.map(({ title }) => title)).toEqual(['run x', 'y']);
});

it('says of a run that stands for the root that its parent was not received', () => {
  const rows = treeRows([{ ...run('x', 'absent', 0, 1), parent_missing: true }], NOW);
  expect(rows.map(({ title }) => title)).toEqual(['run x (parent not received)']);
});

it('draws a run that lasts up to now, and one of no length as a cell', () => {
  const rows = treeRows([run('root', null, 0, null), run('a', 'root', 24, 24)], NOW);
  expect(rows.map(({ bar }) => bar)).toEqual(['▒'.repeat(24), `${'·'.repeat(23)}█`]);
});

it('takes a chain that is deeper than a stack and wider than a terminal', () => {
  const runs = Array.from({ length: 20_000 }, (_, n) => run(`${n}`, n === 0 ? null : `${n - 1}`, 0, 1));
  const rows = treeRows(runs, NOW);
  expect(rows).toHaveLength(20_000);
  expect(rows.at(-1)?.title.length).toBeLessThan(150);
});

it('draws runs that call each other in a circle once', () => {
  const rows = treeRows([run('a', 'b', 0, 1), run('b', 'a', 0, 1)], NOW);
  expect(rows.map(({ title }) => title)).toEqual(['run a', '└─ run b']);
});
