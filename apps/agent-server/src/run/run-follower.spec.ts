import { createLogger } from '#lib/telemetry';
import { FakeClock, waitFor } from '#lib/testing';
import { newId, storeFixture } from '../../testdata/store-fixture.js';
import { CHANNEL } from '../store/channel.js';
import { RunFollower } from './run-follower.js';
import { RunLogs } from './run-logs.js';

const MIB = 1024 * 1024;
const store = storeFixture();

describe('a follower of live output', () => {
  it('asks for what a run emitted before it was followed', async () => {
    const clock = new FakeClock();
    const limits = { runBytes: MIB, processBytes: MIB, keptMs: 60_000, resumableMs: 60_000 };
    const logs = new RunLogs(clock, limits);
    const server = { serverId: newId(), leaseMs: 15_000, maxTakeovers: 3, graphIds: [] };
    const log = createLogger('test', 'silent');
    const follower = new RunFollower({ sql: store.sql, server, logs, isLive: true, clock, log });
    const listener = await store.pool.connect();
    const heard: (string | undefined)[] = [];
    listener.on('notification', ({ payload }) => heard.push(payload));
    await listener.query(`LISTEN ${CHANNEL}`);
    const runId = newId();
    follower.receive({ runId, position: { attempt: 1, n: 0 }, event: 'metadata', data: '{}' });
    follower.follow(logs.open(runId), { isMarked: true });
    await waitFor(() => heard.includes(`watch:${runId}:0-0:${server.serverId}`));
    follower.stop();
    await listener.query(`UNLISTEN ${CHANNEL}`);
    listener.release();
  });
});
