import { describe, expect, it } from '@jest/globals';
import { DEFAULT_EXPORT_LIMITS } from '#lib/export-plan';
import type { Workspace } from '#lib/resources';
import { effectiveLimits } from './workspace-reconciler.js';

describe('the limits in the status of a workspace', () => {
  const platform = { limits: DEFAULT_EXPORT_LIMITS, history: { keptMs: 5_400_000, keptExports: 200 } };
  const shown = (limits?: Workspace['spec']['limits']) =>
    effectiveLimits(platform, { spec: { limits } } as unknown as Workspace);

  it.each<[string, Workspace['spec']['limits'], object]>([
    ['are those of the platform where it has none', undefined, {}],
    ['are its own where these are lower', { concurrentExports: 2 }, { concurrentExports: 2 }],
    ['are those of the platform where its own are higher', { concurrentRunsPerExport: 100 }, {}],
    ['shorten the history', { exportHistoryHours: 1 }, { exportHistoryHours: 1 }],
    ['never lengthen the history', { exportHistoryHours: 2 }, {}],
  ])('%s', (_name, own, expected) => {
    const ofPlatform = { concurrentExports: 15, concurrentRunsPerExport: 45, exportHistoryHours: 1.5 };
    expect(shown(own)).toEqual({ ...ofPlatform, ...expected });
  });
});
