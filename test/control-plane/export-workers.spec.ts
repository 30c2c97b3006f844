import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  exportRunWireStatus,
  exportWireStatus,
  isFinishedExport as hasEnded,
  RESOURCES,
} from '#lib/resources';
import { waitFor } from '#lib/testing';
import { ExportPlane, type StoredRun } from './export-plane.js';

const SOON = { timeoutMs: 150_000 };
const FIRST = Date.UTC(2026, 3, 1);
const dayOf = (n: number): string => new Date(FIRST + n * 86_400_000).toISOString().slice(0, 10);
const windowOf = (days: number) => ({
  startTime: `${dayOf(0)}T00:00:00Z`,
  endTime: `${dayOf(days)}T00:00:00Z`,
});

describe('an export worker of several runs', () => {
  const exports = new ExportPlane();
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
  const ended = async (): Promise<string> => {
    await waitFor(
      async () =>
        hasEnded(exportWireStatus(await exports.export(name))) &&
        (await exports.runs(name)).every((run) => hasEnded(exportRunWireStatus(run))),
      { ...SOON, what: `${name} to end` },
    );
    return exportWireStatus(await exports.export(name));
  };
  /** Status, attempts and messages of each run. */
  const said = async (): Promise<readonly string[]> =>
    (await exports.runs(name)).map((run) => {
      const errors = Object.entries(run.status?.errors ?? {}).map(([key, text]) => `${key} ${text}`);
      return [exportRunWireStatus(run), run.status?.attempt ?? 0, ...errors].join(' ');
    });
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
    // three, where all runs are created within five seconds
    expect(exports.node.started(name)).toBeLessThanOrEqual(6);
    expect(new Set(await said())).toEqual(new Set(['COMPLETED 1']));
    await expectExact(projectId, 90);
  }, 200_000);

  it('leaves a killed run to its next attempt, and the others to another worker', async () => {
    const projectId = await exports.add(name, threeADay(8));
    exports.fault = ({ key, query }) =>
      isOfDay(key, 2) && query.has('partNumber') ? { kind: 'delay', ms: 60_000 } : undefined;
    await exports.begin(name, projectId, windowOf(8));
    await waitFor(async () => (await said())[2]?.startsWith('RUNNING 1'), { ...SOON, what: 'the third day' });
    exports.fault = undefined;
    await exports.node.kill(name);
    expect(await ended()).toBe('COMPLETED');
    const killed = 'retry_0 the worker was killed by SIGKILL (exit code 137, no memory limit)';
    expect(await said()).toEqual([
      ...['COMPLETED 1', 'COMPLETED 1', `COMPLETED 2 ${killed}`],
      ...Array.from({ length: 5 }, () => 'COMPLETED 1'),
    ]);
    // the first, the next attempt of the third day, and the rest
    expect(exports.node.started(name)).toBe(3);
    expect(await exports.exportedIds(name)).toEqual(await exports.storedIds(projectId));
    expect([await exports.uploads(), await exports.secrets(name)]).toEqual([[], []]);
    // a failed Job keeps its log
    expect(await exports.jobs(name)).toHaveLength(1);
  }, 200_000);

  it('stops with a cancelled export, and leaves nothing', async () => {
    const projectId = await exports.add(name, threeADay(6));
    exports.fault = ({ key, query }) =>
      isOfDay(key, 2) && query.has('partNumber') ? { kind: 'delay', ms: 60_000 } : undefined;
    await exports.begin(name, projectId, windowOf(6));
    await waitFor(async () => (await said())[2]?.startsWith('RUNNING 1'), { ...SOON, what: 'the third day' });
    await exports.plane.client.merge(RESOURCES.BulkExport, exports.at(name), { spec: { cancel: true } });
    expect(await ended()).toBe('CANCELLED');
    expect(await said()).toEqual([
      ...['COMPLETED 1', 'COMPLETED 1', 'CANCELLED 1'],
      ...Array.from({ length: 3 }, () => 'CANCELLED 0'),
    ]);
    await exports.cleared(name);
    await waitFor(async () => (await exports.uploads()).length === 0, { ...SOON, what: 'no open upload' });
    expect(await exports.manifests(name)).toEqual([dayOf(0), dayOf(1)]);
  }, 200_000);

  it('ends an export with the day that the store refuses', async () => {
    const projectId = await exports.add(name, threeADay(5));
    exports.fault = ({ key }) => (isOfDay(key, 1) ? { kind: 'error', code: 'AccessDenied' } : undefined);
    await exports.begin(name, projectId, windowOf(5));
    expect(await ended()).toBe('FAILED');
    expect((await said()).map((text) => text.split(' ')[0])).toEqual([
      ...['COMPLETED', 'FAILED', 'CANCELLED', 'CANCELLED', 'CANCELLED'],
    ]);
    await waitFor(async () => (await exports.secrets(name)).length === 0, { ...SOON, what: 'no Secret' });
  }, 200_000);

  it('makes a deleted day again that it had before it', async () => {
    const projectId = await exports.add(name, threeADay(5));
    exports.fault = ({ key, query }) =>
      isOfDay(key, 1) && query.has('partNumber') ? { kind: 'delay', ms: 4_000 } : undefined;
    await exports.begin(name, projectId, windowOf(5));
    await waitFor(async () => (await said())[1]?.startsWith('RUNNING 1'), {
      ...SOON,
      what: 'the second day',
    });
    const [, , , fourth] = await exports.runs(name);
    await exports.plane.client.delete(RESOURCES.BulkExportRun, exports.at(fourth?.metadata.name ?? ''));
    expect(await ended()).toBe('COMPLETED');
    const made = (await exports.runs(name))[3];
    expect(made?.metadata.uid).not.toBe(fourth?.metadata.uid);
    await expectExact(projectId, 5);
  }, 200_000);

  it('carries on while the controller is killed again and again', async () => {
    const projectId = await exports.add(name, threeADay(25));
    exports.fault = ({ query }) => (query.has('partNumber') ? { kind: 'delay', ms: 150 } : undefined);
    await exports.begin(name, projectId, windowOf(25));
    for (const pauseMs of [300, 900, 1_700]) {
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
      await exports.plane.program('controller').end('SIGKILL');
      await exports.plane.startController();
    }
    expect(await ended()).toBe('COMPLETED');
    expect(new Set(await said())).toEqual(new Set(['COMPLETED 1']));
    await expectExact(projectId, 25);
  }, 200_000);

  it('ends without a complaint', () => {
    expect(exports.plane.complaints).toEqual([]);
  });
});
