import { createLogger } from '#lib/telemetry';
import { FakeClock } from '#lib/testing';
import { newId, storeFixture } from '../../testdata/store-fixture.js';
import { LiveOutput } from '../log/live-output.js';
import { RunLogs, type RunLog } from './run-logs.js';
import { RunRelay } from './run-relay.js';
import { WatchAnswers } from './watch-answers.js';

const MIB = 1024 * 1024;
const LIMITS = { runBytes: 32 * MIB, processBytes: 64 * MIB, keptMs: 60_000, resumableMs: 600_000 };

const store = storeFixture();
let clock: FakeClock;
let logs: RunLogs;
let answers: WatchAnswers;

beforeEach(() => {
  clock = new FakeClock();
  logs = new RunLogs(clock, LIMITS);
  const relay = new RunRelay(store.sql, createLogger('test', 'silent'));
  answers = new WatchAnswers({ worker: { relay: () => undefined }, logs, relay, clock });
});

/** A run in progress here with some output. */
function saidHere(count: number): RunLog {
  const log = logs.open(newId());
  Object.assign(log, { isAtWork: true, isMadeHere: true });
  logs.record(log);
  log.events.open(1, { event: 'metadata', data: '{}' });
  for (let n = 1; n <= count; n++) log.events.append({ event: 'custom', data: String(n) });
  return log;
}

/** Events of a run written since the last call. */
async function written({ runId }: RunLog): Promise<string[]> {
  const { rows } = await store.pool.query<{ n: number; event: string }>(
    'WITH gone AS (DELETE FROM agentplane.run_events WHERE run_id = $1 RETURNING n, event) SELECT * FROM gone ORDER BY n',
    [runId],
  );
  return rows.map(({ n, event }) => `${n} ${event}`);
}

const at = (n: number) => ({ attempt: 1, n });

describe('an answer to a server that asks for the output of a run', () => {
  it('repeats what comes after the position once in 5 s, however often it is asked', async () => {
    const log = saidHere(3);
    await Promise.all(Array.from({ length: 20 }, () => answers.answer(log.runId, at(1))));
    expect(await written(log)).toEqual(['2 custom', '3 custom']);
    for (let n = 0; n < 5; n++) await answers.answer(log.runId, at(2));
    expect(await written(log)).toEqual([]);
    await clock.advance(5_000);
    await answers.answer(log.runId, at(2));
    expect(await written(log)).toEqual(['3 custom']);
  });

  it('adds what an earlier position lacks, and nothing else', async () => {
    const log = saidHere(4);
    await answers.answer(log.runId, at(3));
    expect(await written(log)).toEqual(['4 custom']);
    await answers.answer(log.runId, at(1));
    expect(await written(log)).toEqual(['2 custom', '3 custom']);
  });

  it('writes the end of a run once in 5 s', async () => {
    const log = saidHere(1);
    logs.end(log.runId, { body: '"the end"' });
    for (let n = 0; n < 3; n++) await answers.answer(log.runId);
    expect(await written(log)).toEqual(['2 __end__']);
  });

  it('repeats at once what did not arrive', async () => {
    const log = saidHere(2);
    await store.pool.query('ALTER TABLE agentplane.run_events RENAME TO elsewhere');
    await answers.answer(log.runId, at(0));
    await store.pool.query('ALTER TABLE agentplane.elsewhere RENAME TO run_events');
    await answers.answer(log.runId, at(0));
    expect(await written(log)).toEqual(['1 custom', '2 custom']);
  });

  it('repeats what was sent live and got lost, and nothing twice', async () => {
    const sent = { isLive: true, publish: () => Promise.resolve(true) };
    const live = new LiveOutput(sent, (id) => id);
    const relay = new RunRelay(store.sql, createLogger('test', 'silent'), live);
    answers = new WatchAnswers({ worker: { relay: () => undefined }, logs, relay, clock });
    const log = saidHere(2);
    await answers.answer(log.runId, at(0), newId());
    expect(await written(log)).toEqual(['1 custom', '2 custom']);
    relay.addWatchers(log.runId, [newId()]);
    for (const data of ['3', '4']) {
      const logged = log.events.append({ event: 'custom', data });
      if (logged) await relay.append(log.runId, logged);
    }
    expect(await written(log)).toEqual([]);
    await answers.answer(log.runId, at(3), newId());
    expect(await written(log)).toEqual(['3 custom', '4 custom']);
    await answers.answer(log.runId, at(2), newId());
    expect(await written(log)).toEqual([]);
  });

  it('sends a server that Redis does not reach what is made by way of the database', async () => {
    const reached = newId();
    const sent = { isLive: true, publish: (id: string) => Promise.resolve(id === reached) };
    const relay = new RunRelay(store.sql, createLogger('test', 'silent'), new LiveOutput(sent, (id) => id));
    const log = saidHere(0);
    const say = async (data: string): Promise<string[]> => {
      const logged = log.events.append({ event: 'custom', data });
      if (logged) await relay.append(log.runId, logged);
      return written(log);
    };
    relay.addWatchers(log.runId, [reached]);
    expect(await say('1')).toEqual([]);
    expect(await say(JSON.stringify('x'.repeat(MIB)))).toEqual(['2 custom']);
    relay.addWatchers(log.runId, [newId()]);
    expect(await say('3')).toEqual(['3 custom']);
    relay.forgetWatchers(log.runId);
    expect(await say('4')).toEqual(['4 custom']);
    relay.addWatchers(log.runId, [reached, undefined]);
    expect(await say('5')).toEqual(['5 custom']);
  });

  it('writes a large log in pieces', async () => {
    const log = saidHere(0);
    for (let n = 0; n < 12; n++)
      log.events.append({ event: 'custom', data: JSON.stringify('x'.repeat(MIB / 2)) });
    const other = saidHere(1);
    await Promise.all([answers.answer(log.runId, at(0)), answers.answer(other.runId, at(0))]);
    expect(await written(log)).toHaveLength(12);
    expect(await written(other)).toHaveLength(1);
  });

  it('repeats nothing of a run that it only follows', async () => {
    const log = saidHere(2);
    log.isMadeHere = false;
    await answers.answer(log.runId, at(0));
    expect(await written(log)).toEqual([]);
  });
});
