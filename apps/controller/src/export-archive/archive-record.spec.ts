import { describe, expect, it } from '@jest/globals';
import { ANNOTATION, type BulkExport } from '#lib/resources';
import { archivedExport } from './archive-record.js';

describe('an export in the archive', () => {
  it('has no annotations but those that are shown', () => {
    const bulkExport = {
      ...{ apiVersion: 'agentplane.dev/v1alpha1', kind: 'BulkExport' },
      metadata: {
        ...{ name: 'x', namespace: 'ws', uid: 'u', creationTimestamp: '2026-05-01T00:00:00Z' },
        annotations: { [ANNOTATION.id]: 'i', 'example.com/large': 'x'.repeat(200_000) },
        managedFields: [{ manager: 'kubectl' }],
        finalizers: ['agentplane.dev/runs'],
      },
      spec: { tracingProject: { id: 'p' }, destinationRef: { name: 'd' } },
      status: { rows: 1 },
    } as unknown as BulkExport;
    expect(JSON.parse(archivedExport(bulkExport, undefined).object)).toEqual({
      ...bulkExport,
      metadata: {
        ...{ name: 'x', namespace: 'ws', uid: 'u', creationTimestamp: '2026-05-01T00:00:00Z' },
        annotations: { [ANNOTATION.id]: 'i' },
      },
    });
  });
});
