import type { BulkExportRun } from '#lib/resources';
import { AttemptWorkers, type AttemptWorkersDependencies } from './attempt-workers.js';

const run = {
  metadata: { namespace: 'ws-a', name: 'x-01', uid: 'u-1' },
  spec: { destination: { credentialsSecretName: 'missing' } },
} as unknown as BulkExportRun;

describe('AttemptWorkers.start', () => {
  it.each([1, 2])(
    'frees a held run for attempt %d, also while its credentials are missing',
    async (number) => {
      const freed: string[] = [];
      const workers = new AttemptWorkers({
        client: { find: () => Promise.resolve(undefined) },
        limits: { runTimeoutMs: 1_000 },
        traceStore: {
          exportProgress: { free: (uids: readonly string[]) => Promise.resolve(void freed.push(...uids)) },
        },
      } as unknown as AttemptWorkersDependencies);
      await workers.start(run, number);
      expect(freed).toEqual(['u-1']);
    },
  );
});
