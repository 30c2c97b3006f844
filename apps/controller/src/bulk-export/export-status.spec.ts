import { describe, expect, it } from '@jest/globals';
import type { BulkExport } from '#lib/resources';
import { DEFAULT_EXPORT_LIMITS } from '#lib/export-plan';
import { summarizeExport } from './export-status.js';

const AT = '2026-05-03T12:00:00Z';

describe('summarizeExport', () => {
  it('leaves out the condition and the status of the webhook, which another reconciler writes', () => {
    const condition = { status: 'True', reason: 'x', message: 'x', lastTransitionTime: AT };
    const bulkExport = {
      metadata: { name: 'x', generation: 1 },
      spec: {},
      status: {
        conditions: ['Completed', 'WebhookDelivered'].map((type) => ({ type, ...condition })),
        webhook: { attempts: 1 },
      },
    } as unknown as BulkExport;
    const world = {
      bulkExport,
      workspace: undefined,
      destination: undefined,
      project: undefined,
      runs: [],
      hasWorker: false,
      predecessor: undefined,
      siblings: [],
      now: new Date(AT),
      limits: DEFAULT_EXPORT_LIMITS,
    };
    const status = summarizeExport(world, { kind: 'finished' });
    expect(status.conditions?.map(({ type }) => type).sort()).toEqual(['Completed', 'Ready']);
    expect(status.webhook).toBeUndefined();
  });
});
