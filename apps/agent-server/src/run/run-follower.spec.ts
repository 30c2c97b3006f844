import { createLogger } from '#lib/telemetry';
import { FakeClock, waitFor } from '#lib/testing';
import { newId, storeFixture } from '../../testdata/store-fixture.js';
import { CHANNEL } from '../store/channel.js';
import { RunFollower } from './run-follower.js';
import { RunLogs } from './run-logs.js';

const MIB = 1024 * 1024;
const store = storeFixture();

const limits = { runBytes: MIB, processBytes: MIB, keptMs: 60_000, resumableMs: 60_000 };

function follow(runId: string) {
  const clock = new FakeClock();
  const logs = new RunLogs(clock, limits);
  const server = { serverId: newId(), leaseMs: 15_000, maxTakeovers: 3, graphIds: [] };
  const log = createLogger('test', 'silent');
  const follower = new RunFollower({ sql: store.sql, server, logs, isLive: true, clock, log });
  return { server, follower, run: logs.open(runId) };
}

describe('a follower of live output', () => {
  it('asks for what a run emitted before it was followed', async () => {
    const runId = newId();
    const { server, follower, run } = follow(runId);
    const listener = await store.pool.connect();
    const heard: (string | undefined)[] = [];
    listener.on('notification', ({ payload }) => heard.push(payload));
    await listener.query(`LISTEN ${CHANNEL}`);
    follower.receive({ runId, position: { attempt: 1, n: 0 }, event: 'metadata', data: '{}' });
    follower.follow(run, { isMarked: true });
    await waitFor(() => heard.includes(`watch:${runId}:0-0:${server.serverId}`));
    follower.stop();
    await listener.query(`UNLISTEN ${CHANNEL}`);
    listener.release();
  });

  it('opens what a reader gets of a run that began before its server was asked', async () => {
    const runId = newId();
    const { follower, run } = follow(runId);
    run.events.restart(undefined); // the run was pending when it was read
    const reader = run.events.read({ kind: 'now' }, () => undefined);
    follower.follow(run);
    follower.standsAt(runId, { attempt: 2, n: 7 });
    follower.receive({ runId, position: { attempt: 2, n: 8 }, event: 'custom', data: '{"tick":1}' });
    await waitFor(() => run.events.last?.n === 8);
    const taken = [reader.take(), reader.take(), reader.take()];
    expect(taken.map((event) => event && [event.event, event.position, event.data])).toEqual([
      ['metadata', { attempt: 2, n: 7 }, JSON.stringify({ run_id: runId, attempt: 2 })],
      ['custom', { attempt: 2, n: 8 }, '{"tick":1}'],
      undefined,
    ]);
    follower.stop();
  });
});
