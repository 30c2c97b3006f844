import { describe, expect, it } from '@jest/globals';
import { ANNOTATION, type BulkExport, type BulkExportRun } from '#lib/resources';
import { archivedExport, archivedRun } from './archive-reconciler.js';

describe('an export in the archive', () => {
  it('has no annotations but those that are shown', () => {
    const bulkExport = {
      apiVersion: 'agentplane.dev/v1alpha1',
      kind: 'BulkExport',
      metadata: {
        name: 'x',
        namespace: 'ws',
        uid: 'u',
        creationTimestamp: '2026-05-01T00:00:00Z',
        annotations: {
          [ANNOTATION.id]: 'i',
          'example.com/large': 'x'.repeat(200_000),
          [ANNOTATION.requestHash]: 'x'.repeat(200_000),
        },
        managedFields: [{ manager: 'kubectl' }],
        finalizers: ['agentplane.dev/runs'],
      },
      spec: { tracingProject: { id: 'p' }, destinationRef: { name: 'd' } },
      status: { rows: 1 },
    } as unknown as BulkExport;
    expect(JSON.parse(archivedExport(bulkExport, undefined).object)).toEqual({
      ...bulkExport,
      metadata: {
        name: 'x',
        namespace: 'ws',
        uid: 'u',
        creationTimestamp: '2026-05-01T00:00:00Z',
        annotations: { [ANNOTATION.id]: 'i' },
      },
    });
  });

  it('has a small record, and no other where that would be large', () => {
    const run = {
      metadata: { name: 'r', namespace: 'ws', uid: 'u', creationTimestamp: '2026-05-01T00:00:00Z' },
      spec: {
        startTime: '2026-05-01T00:00:00Z',
        endTime: '2026-05-02T00:00:00Z',
        filter: 'f'.repeat(8_000),
        destination: { config: { bucketName: 'b', prefix: 'p', endpointUrl: 'https://x' } },
      },
      status: {
        rows: 7,
        errors: Object.fromEntries([10, 9, 8].map((n) => [`retry_${n}`, `${n} `.repeat(20_000)])),
        conditions: [{ type: 'Failed', status: 'True', reason: 'X', message: 'm'.repeat(30_000) }],
      },
    } as unknown as BulkExportRun;
    const { object, small } = archivedRun(run);
    expect(object).toBe(small);
    expect(small.length).toBeLessThan(3_000);
    const { spec, status } = JSON.parse(small) as BulkExportRun;
    expect([status?.rows, Object.keys(status?.errors ?? {})]).toEqual([7, ['retry_10']]);
    expect(spec).toEqual({
      startTime: '2026-05-01T00:00:00Z',
      endTime: '2026-05-02T00:00:00Z',
      destination: { config: { bucketName: 'b', prefix: 'p' } },
    });
    const ordinary = archivedRun({ ...run, status: { rows: 7 } });
    const { filter: _filter, ...shown } = run.spec;
    expect((JSON.parse(ordinary.object) as BulkExportRun).spec).toEqual(shown);
    expect(JSON.parse(ordinary.small)).toMatchObject({ spec });
  });
});
