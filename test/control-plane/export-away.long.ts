import { describe, expect, it } from '@jest/globals';
import type { FaultTarget } from '#lib/embedded-object-store';
import { exportWireStatus } from '#lib/resources';
import { itLong, waitFor } from '#lib/testing';
import { ExportPlane } from './export-plane.js';

const DAYS = ['2026-05-01', '2026-05-02', '2026-05-03', '2026-05-04'] as const;
const ROWS_PER_DAY = 50;
const AWAY_MS = Number(process.env['AWAY_MS'] ?? 600_000);

const isPart = ({ query }: FaultTarget): boolean => query.has('partNumber');

describe('an export without its API server', () => {
  // a worker for each day, two of them at a time
  const exports = new ExportPlane({ controller: { AGENTPLANE_EXPORT_RUNS_OF_WORKER: '1' } });
  const progressOf = async (uid: string | undefined) =>
    (await exports.plane.traces.exportProgress.find(uid ?? ''))?.state;

  /** Two days are at work and two wait when the server goes: one worker ends meanwhile, the other is killed. */
  async function expectExactAfter(name: string, awayMs: number): Promise<void> {
    const starts = DAYS.flatMap((day) =>
      Array.from({ length: ROWS_PER_DAY }, (_, n) => ({ start_time: `${day}T12:00:00.${1000 + n}Z` })),
    );
    const projectId = await exports.add(name, starts);
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    let parts = 0;
    exports.fault = (target) => {
      if (!isPart(target)) return undefined;
      parts++;
      return { kind: 'hold', until: held };
    };
    await exports.begin(name, projectId, {
      startTime: `${DAYS[0]}T00:00:00Z`,
      endTime: '2026-05-05T00:00:00Z',
    });
    await waitFor(() => parts === 2, { what: 'two days at work' });
    const uids = (await exports.runs(name)).map(({ metadata }) => metadata.uid);

    await exports.server.interrupt();
    const began = Date.now();
    try {
      await exports.node.kill(name);
      release();
      await waitFor(async () => (await Promise.all(uids.map(progressOf))).includes('completed'), {
        what: 'the other worker to complete its day',
      });
      // reading is from memory
      const shown = await exports.rest<readonly { readonly id: string; readonly status: string }[]>('');
      const running = shown.body.filter(({ status }) => status === 'RUNNING');
      expect(running).toHaveLength(1);
      const cancel = { status: 'Cancelled' };
      const refused = await exports.rest<{ detail: string }>(`/${running[0]?.id}`, 'PATCH', {}, cancel);
      expect([refused.status, refused.body.detail]).toEqual([
        503,
        'The Kubernetes API is unavailable, try again',
      ]);
      // a controller that cannot renew its lease ends, and is started again by whatever started it
      await waitFor(() => Date.now() >= began + awayMs, { timeoutMs: awayMs + 60_000 });
      expect(exports.node.started(name)).toBe(2);
    } finally {
      await exports.server.resume();
    }

    const isCompleted = async () => exportWireStatus(await exports.export(name)) === 'COMPLETED';
    await waitFor(isCompleted, { timeoutMs: 300_000, what: 'the export to complete' }).catch(
      async (error: unknown) => {
        const said = (await exports.runs(name)).map(({ status }) => JSON.stringify(status));
        const heard = exports.plane.program('controller').log.slice(-20);
        throw new Error(`${said.join('\n')}\n${JSON.stringify(heard)}`, { cause: error });
      },
    );
    const runs = await exports.runs(name);
    expect(runs.map(({ status }) => status?.attempt).sort()).toEqual([1, 1, 1, 2]);
    expect(await exports.exportedIds(name)).toEqual(await exports.storedIds(projectId));
    expect(await exports.manifests(name)).toEqual(DAYS);
    expect(await exports.uploads()).toEqual([]);
    await exports.cleared(name);
  }

  it('goes on, and completes exactly once the server is back', () => expectExactAfter('short', 0));

  itLong('goes on, and completes exactly once the server is back after ten minutes', () =>
    expectExactAfter('long', AWAY_MS),
  );
});
