import { describe, expect, it } from '@jest/globals';
import { renderEstimate } from './export-create-command.js';

describe('an estimate of an export', () => {
  it('shows what a terminal would obey in what the server answered', () => {
    const text = renderEstimate(
      {
        start_time: '\u001b]0;title\u0007',
        end_time: '2026-01-02T00:00:00Z',
        windows: 1,
        runs: 2,
        rows: 3,
        exact: true,
        bytes: 4,
        bytes_per_row: 5,
        measured_exports: 1,
        seconds: 6,
      },
      undefined,
    );
    expect(text).toContain(
      'window  \\u001b]0;title\\u0007 to 2026-01-02T00:00:00Z\nruns    2, a UTC day each\n',
    );
    expect(text).toMatch(/time {4}about 6 s\n$/);
  });
});
