import { randomUUID } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { BulkExportRunSpec } from '#lib/resources';
import { testPostgres, waitFor } from '#lib/testing';
import { ExportStand } from '../testdata/export-stand.js';
import type { WorkerProcess } from '../testdata/worker-process.js';

const DAYS = ['2026-11-20', '2026-11-21', '2026-11-22', '2026-11-23'] as const;
/** Rows of each day: the third has none. */
const ROWS = [3, 2, 0, 5] as const;

describe('a worker of several runs', () => {
  const postgres = testPostgres();
  let stand: ExportStand;
  let projectId: string;

  beforeAll(async () => {
    stand = await ExportStand.start((await postgres.freshDatabase()).uri);
    const runs = DAYS.flatMap((day, at) =>
      Array.from({ length: ROWS[at] ?? 0 }, (_, n) => ({
        run: { name: `run ${n}`, start_time: `${day}T0${n}:00:00Z` },
        fields: { inputs: `${n}` },
      })),
    );
    projectId = await stand.ingest('several', runs);
  });
  afterAll(() => stand.stop());
  afterEach(() => {
    stand.fault = undefined;
  });

  interface Several {
    readonly spec: BulkExportRunSpec;
    readonly exportUid: string;
    readonly uids: readonly string[];
    begin(env?: Readonly<Record<string, string>>): WorkerProcess;
  }

  /** Runs of the days of one export, not begun. */
  function several(change: Partial<BulkExportRunSpec> = {}): Several {
    const spec = stand.specOf(projectId, DAYS[0], change);
    const exportUid = randomUUID();
    const uids = DAYS.map(() => randomUUID());
    const following = uids.slice(1).map((runUid, at) => {
      const { startTime, endTime } = stand.specOf(projectId, DAYS[at + 1] ?? '');
      return { runUid, own: { startTime, endTime } };
    });
    const begin = (env: Readonly<Record<string, string>> = {}): WorkerProcess =>
      stand.work(spec, uids[0] ?? '', 1, {
        AGENTPLANE_EXPORT_FOLLOWING: JSON.stringify(following),
        AGENTPLANE_EXPORT_UID: exportUid,
        ...env,
      });
    return { spec, exportUid, uids, begin };
  }
  const states = async ({ uids }: Several): Promise<readonly (string | undefined)[]> => {
    const records = await stand.traces.exportProgress.list(uids);
    return uids.map((uid) => {
      const record = records.get(uid);
      return record && `${record.state} ${record.attempt} ${record.rows}`;
    });
  };
  const manifests = async ({ spec }: Several): Promise<readonly string[]> =>
    (
      await readdir(
        join(stand.folder, stand.bucket, 'x/manifests', `export_id=${spec.exportId}`, 'runs'),
      ).catch(() => [])
    )
      .map((name) => name.replace('.json', ''))
      .sort();
  const ofDay = (key: string, day: number): boolean =>
    key.includes(DAYS[day] ?? 'no day') || key.includes(`day=${20 + day}`);

  it('completes one after the other, each with its own progress, files and manifest', async () => {
    const runs = several();
    const worker = runs.begin();
    expect(await worker.ended).toBe(0);
    expect(await states(runs)).toEqual(['completed 1 3', 'completed 1 2', 'completed 1 0', 'completed 1 5']);
    expect(await manifests(runs)).toEqual(DAYS);
    // each claims when it begins, and no two are at work at once
    const said = worker.log.filter(({ msg }) => msg === 'export run completed').map(({ run }) => run);
    expect(said).toEqual(runs.uids);
  });

  it('takes one of another export, under the fence of that', async () => {
    const [runs, other] = [several(), several({ filter: 'eq(name, "run 0")' })];
    const [, second = ''] = runs.uids;
    const own = { ...windowOf(1), exportId: other.spec.exportId, filter: other.spec.filter };
    const following = JSON.stringify([
      { runUid: other.uids[1], exportUid: other.exportUid, own },
      { runUid: second, own: windowOf(1) },
    ]);
    expect(await runs.begin({ AGENTPLANE_EXPORT_FOLLOWING: following }).ended).toBe(0);
    expect(await states(runs)).toEqual(['completed 1 3', 'completed 1 2', undefined, undefined]);
    expect(await states(other)).toEqual([undefined, 'completed 1 1', undefined, undefined]);
    expect(await manifests(other)).toEqual([DAYS[1]]);
    const later = several();
    await stand.traces.exportProgress.cancelExport(other.exportUid);
    const again = JSON.stringify([
      { runUid: other.uids[2], exportUid: other.exportUid, own: { ...windowOf(2), exportId: own.exportId } },
      { runUid: later.uids[1], own: windowOf(1) },
    ]);
    expect(await later.begin({ AGENTPLANE_EXPORT_FOLLOWING: again }).ended).toBe(0);
    expect(await states(other)).toEqual([undefined, 'completed 1 1', undefined, undefined]);
    expect(await states(later)).toEqual(['completed 1 3', 'completed 1 2', undefined, undefined]);
  });

  it('passes over one that was cancelled, and one that another attempt has', async () => {
    const runs = several();
    const [, second = '', third = ''] = runs.uids;
    await stand.traces.exportProgress.cancel(second);
    await stand.traces.exportProgress.claim(third, 1);
    expect(await runs.begin().ended).toBe(0);
    expect(await states(runs)).toEqual(['completed 1 3', 'cancelled 0 0', 'running 1 0', 'completed 1 5']);
    expect(await manifests(runs)).toEqual([DAYS[0], DAYS[3]]);
  });

  it('passes over the first where that was cancelled', async () => {
    const runs = several();
    await stand.traces.exportProgress.cancel(runs.uids[0] ?? '');
    expect(await runs.begin().ended).toBe(0);
    expect(await states(runs)).toEqual(['cancelled 0 0', 'completed 1 2', 'completed 1 0', 'completed 1 5']);
  });

  it('goes on with the next where one is cancelled while it is in work', async () => {
    const runs = several();
    const [, second = ''] = runs.uids;
    stand.fault = ({ key, query }) =>
      ofDay(key, 1) && query.has('partNumber') ? { kind: 'delay', ms: 1_500 } : undefined;
    const worker = runs.begin();
    await waitFor(async () => (await stand.traces.exportProgress.find(second))?.intent?.uploadId);
    await stand.traces.exportProgress.cancel(second);
    expect(await worker.ended).toBe(0);
    expect(await states(runs)).toEqual(['completed 1 3', 'cancelled 1 0', 'completed 1 0', 'completed 1 5']);
  });

  it('ends with the run that fails, and leaves the rest unclaimed', async () => {
    const runs = several();
    stand.fault = ({ key }) => (ofDay(key, 1) ? { kind: 'error', code: 'AccessDenied' } : undefined);
    expect(await runs.begin().ended).toBe(65);
    expect(await states(runs)).toEqual(['completed 1 3', 'failed 1 0', undefined, undefined]);
  });

  it('leaves every row once when it is killed in one of them', async () => {
    const runs = several();
    stand.fault = ({ key, query }) => {
      if (!ofDay(key, 1) || !query.has('uploadId') || query.has('partNumber')) return undefined;
      worker.kill('SIGKILL');
      return { kind: 'lost-answer' };
    };
    const worker = runs.begin();
    expect(await worker.ended).toBe('SIGKILL');
    expect(await states(runs)).toEqual(['completed 1 3', 'running 1 0', undefined, undefined]);
    stand.fault = undefined;
    // the run in work is another attempt's; the rest has not begun
    const [, second = '', third = '', fourth = ''] = runs.uids;
    const next = { ...runs.spec, ...windowOf(1) };
    expect(await stand.work(next, second, 2).ended).toBe(0);
    const rest = [{ runUid: fourth, own: windowOf(3) }];
    const env = { AGENTPLANE_EXPORT_FOLLOWING: JSON.stringify(rest) };
    expect(await stand.work({ ...runs.spec, ...windowOf(2) }, third, 1, env).ended).toBe(0);
    expect(await states(runs)).toEqual(['completed 1 3', 'completed 2 2', 'completed 1 0', 'completed 1 5']);
    expect(await readdir(join(stand.folder, '.store/uploads', stand.bucket))).toEqual([]);
  });

  it('begins no further run once its time is over', async () => {
    const runs = several();
    expect(await runs.begin({ AGENTPLANE_EXPORT_TAKE_FOR_MS: '0' }).ended).toBe(0);
    expect(await states(runs)).toEqual(['completed 1 3', undefined, undefined, undefined]);
  });

  describe('that knows the window of its export', () => {
    const scheduleId = randomUUID();
    const exportWindow = {
      startTime: `${DAYS[0]}T00:00:00Z`,
      endTime: `${DAYS[3]}T23:59:59.999999Z`,
      scheduleId,
    };
    const windowKey = `x/manifests/schedule=${scheduleId}/20261120T000000Z.json`;
    const exportKey = ({ spec }: Several): string => `x/manifests/export_id=${spec.exportId}/export.json`;
    const read = async (key: string): Promise<object> =>
      JSON.parse(
        Buffer.concat(await (await stand.store.get(stand.bucket, key)).toArray()).toString(),
      ) as object;
    const isStored = async (key: string): Promise<boolean> =>
      (await stand.store.stat(stand.bucket, key)) !== undefined;
    afterEach(() => stand.store.delete(stand.bucket, windowKey));

    it('writes one manifest of the whole export after those of all days, and one for the window', async () => {
      const runs = several({ exportWindow });
      const puts: string[] = [];
      stand.fault = ({ method, key }) => {
        if (method === 'PUT' && key.includes('manifests/')) puts.push(key);
        return undefined;
      };
      expect(await runs.begin().ended).toBe(0);
      const days = DAYS.map((day) => `x/manifests/export_id=${runs.spec.exportId}/runs/${day}.json`);
      expect(puts).toEqual([...days, exportKey(runs), windowKey]);
      const manifest = await read(exportKey(runs));
      const inDays = await Promise.all(days.map(read));
      expect(manifest).toMatchObject({
        version: 1,
        exportId: runs.spec.exportId,
        status: 'COMPLETED',
        rows: 10,
        manifests: days,
        ...exportWindow,
        files: inDays.flatMap((one) => (one as { files: object[] }).files),
      });
      expect(await read(windowKey)).toEqual(manifest);
    });

    it('writes none while a day is missing, and leaves it to the worker of that day', async () => {
      const runs = several({ exportWindow });
      const [, second = ''] = runs.uids;
      await stand.traces.exportProgress.claim(second, 1, runs.exportUid);
      expect(await runs.begin().ended).toBe(0);
      expect(await states(runs)).toEqual(['completed 1 3', 'running 1 0', 'completed 1 0', 'completed 1 5']);
      expect([await isStored(exportKey(runs)), await isStored(windowKey)]).toEqual([false, false]);
      const env = { AGENTPLANE_EXPORT_UID: runs.exportUid };
      expect(await stand.work({ ...runs.spec, ...windowOf(1) }, second, 2, env).ended).toBe(0);
      expect(await read(exportKey(runs))).toMatchObject({ rows: 10 });
    });

    it('writes it again where its worker was killed before the last day was completed', async () => {
      const runs = several({ exportWindow });
      stand.fault = ({ key }) => {
        if (key !== exportKey(runs)) return undefined;
        worker.kill('SIGKILL');
        return { kind: 'lost-answer' };
      };
      const worker = runs.begin();
      expect(await worker.ended).toBe('SIGKILL');
      expect((await states(runs)).at(-1)).toBe('running 1 5');
      stand.fault = undefined;
      const env = { AGENTPLANE_EXPORT_UID: runs.exportUid };
      expect(await stand.work({ ...runs.spec, ...windowOf(3) }, runs.uids[3] ?? '', 2, env).ended).toBe(0);
      expect(await read(windowKey)).toMatchObject({ status: 'COMPLETED', rows: 10 });
      expect(await read(exportKey(runs))).toEqual(await read(windowKey));
    });

    it('leaves none of an export that was cancelled while it was on its way', async () => {
      const runs = several({ exportWindow });
      const { promise: until, resolve: release } = Promise.withResolvers<void>();
      const { promise: reached, resolve: reach } = Promise.withResolvers<void>();
      stand.fault = ({ method, key }) => {
        if (method !== 'PUT' || key !== windowKey) return undefined;
        reach();
        return { kind: 'hold', until };
      };
      const worker = runs.begin();
      await reached;
      await stand.traces.exportProgress.cancelExport(runs.exportUid);
      release();
      expect(await worker.ended).toBe(0);
      expect((await states(runs)).at(-1)).toBe('cancelled 1 5');
      expect([await isStored(exportKey(runs)), await isStored(windowKey)]).toEqual([false, false]);
      expect(await manifests(runs)).toEqual(DAYS.slice(0, 3));
    });
  });

  const windowOf = (day: number): Pick<BulkExportRunSpec, 'startTime' | 'endTime'> => {
    const { startTime, endTime } = stand.specOf(projectId, DAYS[day] ?? '');
    return { startTime, endTime };
  };
});
