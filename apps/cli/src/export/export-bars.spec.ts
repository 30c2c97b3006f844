import { describe, expect, it } from '@jest/globals';
import type { BulkExport, BulkExportRun } from '#lib/resources';
import { exportBars } from './export-command.js';

const FOUND = {
  metadata: { name: 'may' },
  status: { percent: 40, rows: 10, bytes: 2_000, runs: { total: 3, completed: 1 } },
} as unknown as BulkExport;

function run(day: number, type: string | undefined, status: object = {}): BulkExportRun {
  const conditions = type === undefined ? [] : [{ type, status: 'True', reason: type, message: '' }];
  return {
    spec: { startTime: `2026-05-0${day}T00:00:00Z` },
    status: { conditions, attempt: 1, ...status },
  } as unknown as BulkExportRun;
}

const COMPLETED = run(1, 'Completed', { rows: 10, bytes: 2_000 });
const RUNNING = run(2, 'Running', { percent: 50, attempt: 2 });
const WAITING = run(3, undefined, { attempt: 0 });

describe('the bars of an export', () => {
  it('draws one for the export and one for each run, by day', () => {
    expect(exportBars(FOUND, [WAITING, COMPLETED, RUNNING], 10)).toEqual([
      'may         ████████░░░░░░░░░░░░  40 %  10 rows, 2000 bytes, 1 of 3 days completed',
      '2026-05-01  ████████████████████ 100 %  completed, 10 rows, 2000 bytes',
      '2026-05-02  ██████████░░░░░░░░░░  50 %  running, 0 rows, 0 bytes, attempt 2',
      '2026-05-03  ░░░░░░░░░░░░░░░░░░░░   0 %  created, 0 rows, 0 bytes',
    ]);
  });

  it('prefers what failed and what is at work where not all fit', () => {
    const runs = [COMPLETED, RUNNING, WAITING, run(4, 'Failed'), run(5, 'Completed')];
    expect(exportBars(FOUND, runs, 4).map((line) => line.split(' ')[0])).toEqual([
      'may',
      '2026-05-02',
      '2026-05-04',
      'and',
    ]);
    expect(exportBars(FOUND, runs, 4).at(-1)).toBe('and 3 more runs');
  });

  it.each([1, 2])('takes no more than %i lines', (most) => {
    expect(exportBars(FOUND, [COMPLETED, RUNNING], most)).toHaveLength(most);
  });

  it('leaves out runs before there are any', () => {
    const begun = { metadata: { name: 'a-name-longer-than-a-day' } } as unknown as BulkExport;
    expect(exportBars(begun, [], 5)).toEqual([
      'a-name-longer-than-a-day  ░░░░░░░░░░░░░░░░░░░░   0 %  0 rows, 0 bytes',
    ]);
  });
});
