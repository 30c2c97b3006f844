import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  exportRunWireStatus,
  exportWireStatus,
  idOf,
  isFinishedExport as hasEnded,
  RESOURCES,
} from '#lib/resources';
import { waitFor } from '#lib/testing';
import { ExportPlane, type StoredRun } from './export-plane.js';

const FIRST = Date.UTC(2026, 3, 1);
const dayOf = (n: number): string => new Date(FIRST + n * 86_400_000).toISOString().slice(0, 10);
const windowOf = (days: number) => ({
  startTime: `${dayOf(0)}T00:00:00Z`,
  endTime: `${dayOf(days)}T00:00:00Z`,
});

describe('an export worker of several runs', () => {
  // however busy the machine, a worker takes all of them
  const exports = new ExportPlane({ controller: { AGENTPLANE_EXPORT_RUNS_WITHIN_MS: '120000' } });
  let count = 0;
  let name: string;

  beforeEach(() => {
    name = `w${++count}`;
  });
  afterEach(() => {
    exports.fault = undefined;
  });

  /** Three runs on each of so many days. */
  const threeADay = (days: number): StoredRun[] =>
    Array.from({ length: 3 * days }, (_, n) => ({
      start_time: `${dayOf(Math.floor(n / 3))}T0${n % 3}:00:00Z`,
    }));
  const isOfDay = (key: string, n: number): boolean =>
    key.includes(dayOf(n)) || key.includes(`month=4/day=${n + 1}/`);
  /** Holds the files of a day until they are released. */
  function holdDay(n: number): {
    readonly begun: () => Promise<unknown>;
    readonly release: (isHeldOn?: boolean) => void;
  } {
    const { promise: until, resolve } = Promise.withResolvers<undefined>();
    exports.fault = ({ key, query }) =>
      isOfDay(key, n) && query.has('partNumber') ? { kind: 'hold', until } : undefined;
    return {
      begun: () => waitFor(async () => (await said())[n]?.startsWith('RUNNING 1'), { what: `day ${n + 1}` }),
      release: (isHeldOn = false) => {
        if (!isHeldOn) exports.fault = undefined;
        resolve(undefined);
      },
    };
  }
  const ended = async (): Promise<string> => {
    await waitFor(
      async () =>
        hasEnded(exportWireStatus(await exports.export(name))) &&
        (await exports.runs(name)).every((run) => hasEnded(exportRunWireStatus(run))),
      { what: `${name} to end` },
    );
    return exportWireStatus(await exports.export(name));
  };
  /** Status, attempts and messages of each run. */
  const said = async (): Promise<readonly string[]> =>
    (await exports.runs(name)).map((run) => {
      const errors = Object.entries(run.status?.errors ?? {}).map(([key, text]) => `${key} ${text}`);
      return [exportRunWireStatus(run), run.status?.attempt ?? 0, ...errors].join(' ');
    });
  /** What each run says of itself. */
  const messages = async (): Promise<readonly string[]> =>
    (await exports.runs(name)).map(
      ({ status }) => status?.conditions?.find(({ type }) => type === 'Running')?.message ?? '',
    );
  async function expectExact(projectId: string, days: number): Promise<void> {
    expect(await exports.exportedIds(name)).toEqual(await exports.storedIds(projectId));
    expect(await exports.manifests(name)).toEqual(Array.from({ length: days }, (_, n) => dayOf(n)));
    expect(await exports.uploads()).toEqual([]);
    await exports.cleared(name);
  }

  it('takes ninety empty days with a few processes', async () => {
    const projectId = await exports.add(name, []);
    await exports.begin(name, projectId, windowOf(90));
    expect(await ended()).toBe('COMPLETED');
    expect(exports.node.started(name)).toBe(3);
    expect(new Set(await said())).toEqual(new Set(['COMPLETED 1']));
    await expectExact(projectId, 90);
  });

  it('leaves a killed run to its next attempt, and the others to another worker', async () => {
    const projectId = await exports.add(name, threeADay(8));
    const third = holdDay(2);
    await exports.begin(name, projectId, windowOf(8));
    await third.begun();
    await exports.node.kill(name);
    third.release();
    expect(await ended()).toBe('COMPLETED');
    const killed = 'retry_0 the worker was killed by SIGKILL (exit code 137, no memory limit)';
    expect(await said()).toEqual([
      'COMPLETED 1',
      'COMPLETED 1',
      `COMPLETED 2 ${killed}`,
      ...Array.from({ length: 5 }, () => 'COMPLETED 1'),
    ]);
    // the first, the next attempt of the third day, and the rest
    expect(exports.node.started(name)).toBe(3);
    expect(await exports.exportedIds(name)).toEqual(await exports.storedIds(projectId));
    expect([await exports.uploads(), await exports.secrets(name)]).toEqual([[], []]);
    // a failed Job keeps its log
    expect(await exports.jobs(name)).toHaveLength(1);
  });

  it('stops with a cancelled export, and leaves nothing', async () => {
    const projectId = await exports.add(name, threeADay(6));
    const third = holdDay(2);
    await exports.begin(name, projectId, windowOf(6));
    await third.begun();
    await exports.plane.client.merge(RESOURCES.BulkExport, exports.at(name), { spec: { cancel: true } });
    expect(await ended()).toBe('CANCELLED');
    expect(await said()).toEqual([
      'COMPLETED 1',
      'COMPLETED 1',
      'CANCELLED 1',
      ...Array.from({ length: 3 }, () => 'CANCELLED 0'),
    ]);
    await exports.cleared(name);
    await waitFor(async () => (await exports.uploads()).length === 0, { what: 'no open upload' });
    expect(await exports.manifests(name)).toEqual([dayOf(0), dayOf(1)]);
    third.release();
  });

  it('begins no further day while the export is suspended, and the rest afterwards', async () => {
    const projectId = await exports.add(name, threeADay(6));
    const third = holdDay(2);
    await exports.begin(name, projectId, windowOf(6));
    await third.begun();
    const set = async (suspend: boolean): Promise<unknown> =>
      await exports.plane.client.merge(RESOURCES.BulkExport, exports.at(name), { spec: { suspend } });
    await set(true);
    await waitFor(async () => (await messages()).filter((text) => /is suspended/.test(text)).length === 3, {
      what: 'three days to be held',
    });
    third.release();
    await waitFor(async () => (await exports.jobs(name)).length === 0, {
      what: 'the end of the worker',
    });
    expect((await said()).map((text) => text.split(' ')[1])).toEqual(['1', '1', '1', '0', '0', '0']);
    await set(false);
    expect(await ended()).toBe('COMPLETED');
    expect([new Set(await said()), exports.node.started(name)]).toEqual([new Set(['COMPLETED 1']), 2]);
    await expectExact(projectId, 6);
  });

  it('ends an export with the day that the store refuses', async () => {
    const projectId = await exports.add(name, threeADay(5));
    exports.fault = ({ key }) => (isOfDay(key, 1) ? { kind: 'error', code: 'AccessDenied' } : undefined);
    await exports.begin(name, projectId, windowOf(5));
    expect(await ended()).toBe('FAILED');
    const [first, ...rest] = (await said()).map((text) => text.split(' ')[0]);
    expect(rest).toEqual(['FAILED', 'CANCELLED', 'CANCELLED', 'CANCELLED']);
    // whichever day was seen first had the worker first
    expect([first, await exports.manifests(name)]).toEqual(
      first === 'COMPLETED' ? ['COMPLETED', [dayOf(0)]] : ['CANCELLED', []],
    );
    await waitFor(async () => (await exports.secrets(name)).length === 0, { what: 'no Secret' });
  });

  it('makes a deleted day again that it had before it', async () => {
    const projectId = await exports.add(name, threeADay(5));
    const second = holdDay(1);
    await exports.begin(name, projectId, windowOf(5));
    await second.begun();
    const { uid = '', name: fourth } = (await exports.runs(name))[3]?.metadata ?? { name: '' };
    await exports.plane.client.delete(RESOURCES.BulkExportRun, exports.at(fourth));
    // while the worker goes on
    const isMade = async (): Promise<boolean> => {
      const made = (await exports.runs(name))[3]?.metadata;
      return made?.name === fourth && made.uid !== uid;
    };
    await waitFor(isMade, { what: 'the fourth day to be made again' });
    second.release();
    expect(await ended()).toBe('COMPLETED');
    await expectExact(projectId, 5);
    const { rows } = await exports.sql.query('SELECT 1 FROM export_progress WHERE run_uid = $1', [uid]);
    expect(rows).toEqual([]);
  });

  it('carries on while the controller is killed again and again', async () => {
    const projectId = await exports.add(name, threeADay(25));
    let killing = holdDay(0);
    await exports.begin(name, projectId, windowOf(25));
    // with the first Job, in the middle, and before the last days
    for (const next of [9, 20, undefined]) {
      await killing.begun();
      await exports.plane.program('controller').end('SIGKILL');
      const former = killing;
      if (next !== undefined) killing = holdDay(next);
      former.release(next !== undefined);
      await exports.plane.startController();
    }
    expect(await ended()).toBe('COMPLETED');
    expect(new Set(await said())).toEqual(new Set(['COMPLETED 1']));
    await expectExact(projectId, 25);
  });

  it('ends without a complaint', () => {
    expect(exports.plane.complaints).toEqual([]);
  });
});

describe('an export worker of several exports', () => {
  // one place of the platform: the others wait for it
  const exports = new ExportPlane({ controller: { AGENTPLANE_EXPORT_ALL_RUNS: '1' } });
  const NAMES = ['s1', 's2', 's3', 's4'];

  const statusOf = async (name: string): Promise<string> => exportWireStatus(await exports.export(name));
  const awaits = async (name: string): Promise<boolean> =>
    (await exports.runs(name)).some((run) =>
      run.status?.conditions?.some(({ reason }) => reason === 'AwaitingPlace'),
    );

  it('takes the runs that wait for a place, and leaves out an export that is cancelled', async () => {
    const runs = [{ start_time: `${dayOf(0)}T01:00:00Z` }, { start_time: `${dayOf(0)}T02:00:00Z` }];
    const projectId = await exports.add('shared', runs);
    const { promise: first, resolve: releaseFirst } = Promise.withResolvers<undefined>();
    const { promise: second, resolve: releaseSecond } = Promise.withResolvers<undefined>();
    const held = { id: '' };
    exports.fault = ({ key, query }) => {
      if (!query.has('partNumber')) return undefined;
      const [id = ''] = /export_id=[^/]+/.exec(key) ?? [];
      if (held.id === '') return { kind: 'hold', until: first };
      return id === held.id ? { kind: 'hold', until: second } : undefined;
    };
    await exports.begin('s0', projectId, windowOf(1));
    await waitFor(async () => (await exports.runs('s0'))[0]?.status?.attempt === 1, { what: 's0 to begin' });
    for (const name of NAMES) {
      await exports.begin(name, projectId, windowOf(1));
      await waitFor(() => awaits(name), { what: `${name} to wait for a place` });
    }
    // the first of the worker that follows, which is deleted while that has the others before it
    held.id = `export_id=${idOf(await exports.export('s1'))}`;
    releaseFirst(undefined);
    const { uid: heldUid = '' } = (await exports.runs('s1'))[0]?.metadata ?? {};
    const { exportProgress } = exports.plane.traces;
    await waitFor(async () => (await exportProgress.find(heldUid))?.intent?.uploadId, {
      what: 's1 to be held',
    });
    await exports.plane.client.merge(RESOURCES.BulkExport, exports.at('s2'), { spec: { cancel: true } });
    await exports.plane.client.delete(RESOURCES.BulkExport, exports.at('s1'));
    await waitFor(async () => (await statusOf('s2')) === 'CANCELLED', { what: 's2 to end' });
    releaseSecond(undefined);
    await waitFor(
      async () => (await Promise.all(['s3', 's4'].map(statusOf))).every((status) => status === 'COMPLETED'),
      { what: 'the others to end' },
    );
    const attempts = await Promise.all(['s2', 's3', 's4'].map((name) => exports.runs(name)));
    expect(attempts.flat().map(({ status }) => [status?.attempt, status?.errors])).toEqual([
      [0, undefined],
      [1, undefined],
      [1, undefined],
    ]);
    expect(['s0', ...NAMES].map((name) => exports.node.started(name))).toEqual([1, 1, 0, 0, 0]);
    for (const name of ['s3', 's4'])
      expect(await exports.exportedIds(name)).toEqual(await exports.storedIds(projectId));
    await waitFor(async () => (await exports.uploads()).length === 0, { what: 'no open upload' });
    for (const name of ['s0', ...NAMES]) await exports.cleared(name);
  });

  it('ends without a complaint', () => {
    expect(exports.plane.complaints).toEqual([]);
  });
});
