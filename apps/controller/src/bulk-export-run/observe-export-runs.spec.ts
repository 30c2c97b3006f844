import { describe, expect, it } from '@jest/globals';
import { CONDITION, type BulkExportRun } from '#lib/resources';
import { metrics } from '#lib/telemetry';
import { FakeClock } from '#lib/testing';
import { readExportLag } from './run-status.js';

describe('the lag of exports', () => {
  it('reports the age of the oldest run that has not ended as the lag', async () => {
    const clock = new FakeClock();
    const run = (ageS: number, isComplete: boolean): BulkExportRun =>
      ({
        metadata: {
          name: `r${ageS}`,
          creationTimestamp: new Date(clock.now().getTime() - ageS * 1000).toISOString(),
        },
        status: { conditions: isComplete ? [{ type: CONDITION.completed, status: 'True' }] : [] },
      }) as never;
    let runs = [run(500, true), run(60, false), run(20, false)];
    const end = readExportLag({ list: () => runs }, clock);
    expect((await metrics.exportLag.samples())[0]?.value).toBe(60);
    runs = [run(500, true)];
    expect((await metrics.exportLag.samples())[0]?.value).toBe(0);
    end();
  });
});
