import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import type { SleepNote } from '#lib/resources';
import { FakeClock } from '#lib/testing';
import { SLEEP_LIMITS, SleepGate } from './sleep-gate.js';

const stays = new AbortController().signal;
const requestOf = (key: string): IncomingMessage => ({ headers: { 'x-api-key': key } }) as never;

function gateOf() {
  const clock = new FakeClock();
  const state: { note: SleepNote | undefined; asked: string[]; ready: string[] } = {
    note: { since: 'monday' },
    asked: [],
    ready: [],
  };
  const wake = (note: SleepNote): Promise<void> => {
    state.asked.push(note.since);
    return Promise.resolve();
  };
  const looks = { count: 0 };
  const note = (): SleepNote | undefined => {
    looks.count++;
    return state.note;
  };
  const ready = (): string[] => state.ready;
  return { clock, state, looks, gate: new SleepGate({ note, wake, ready, clock }) };
}

describe('SleepGate', () => {
  it('lets requests pass to a deployment that is awake', async () => {
    const { state, gate } = gateOf();
    state.note = undefined;
    expect(await gate.pass(requestOf('a'), stays)).toBeUndefined();
    expect(state.asked).toEqual([]);
  });

  it('asks once for all that wait, repeats that each second, and lets all pass in the end', async () => {
    const { clock, state, gate } = gateOf();
    const waiting = Array.from({ length: 50 }, () => gate.pass(requestOf('a'), stays));
    await clock.advance(900);
    expect(state.asked).toEqual(['monday']);
    await clock.advance(200);
    expect(state.asked).toEqual(['monday', 'monday']);
    state.note = { since: 'monday', wakingSince: 'tuesday' };
    await clock.advance(5_000);
    expect(state.asked).toHaveLength(2);
    state.note = undefined;
    await clock.advance(25);
    expect(await Promise.all(waiting)).toEqual(waiting.map(() => undefined));
  });

  it('lets all pass once a pod of the wake is ready, and none to those of before', async () => {
    const { clock, state, gate } = gateOf();
    state.ready = ['former'];
    let passed = 0;
    const pass = (): Promise<unknown> => gate.pass(requestOf('a'), stays).then(() => passed++);
    const first = pass();
    await clock.advance(100);
    state.note = { since: 'monday', wakingSince: 'tuesday' };
    await clock.advance(100);
    expect(passed).toBe(0);
    state.ready = ['former', 'new'];
    await clock.advance(100);
    expect(passed).toBe(0);
    state.ready = ['new'];
    await clock.advance(25);
    await first;
    await pass();
    expect(passed).toBe(2);
    // the next sleep
    state.note = { since: 'friday', wakingSince: 'sunday' };
    void pass();
    await clock.advance(100);
    expect(passed).toBe(2);
  });

  it('lets all pass at once when it learns that a pod is ready', async () => {
    const { clock, state, gate } = gateOf();
    const waiting = [gate.pass(requestOf('a'), stays), gate.pass(requestOf('b'), stays)];
    state.note = { since: 'monday', wakingSince: 'tuesday' };
    gate.lookNow();
    await clock.advance(0);
    state.ready = ['new'];
    gate.lookNow();
    expect(await Promise.all(waiting)).toEqual([undefined, undefined]);
  });

  it('looks at the Service once for all that wait', async () => {
    const { clock, looks, gate } = gateOf();
    const left = new AbortController();
    const { most, mostOfCaller } = SLEEP_LIMITS;
    const waiting = Array.from({ length: most }, (_, at) =>
      gate.pass(requestOf(String(at % (most / mostOfCaller))), left.signal),
    );
    expect(looks.count).toBe(most);
    await clock.advance(1_000);
    expect(looks.count - most).toBeLessThanOrEqual(101);
    left.abort();
    await clock.advance(50);
    await Promise.all(waiting);
  });

  it('refuses with the reason when the start is in trouble', async () => {
    const { clock, state, gate } = gateOf();
    const waiting = gate.pass(requestOf('a'), stays);
    state.note = { since: 'monday', wakingSince: 'monday', problem: 'a graph failed to load' };
    await clock.advance(25);
    expect(await waiting).toEqual({
      status: 503,
      message: 'the deployment slept and does not start: a graph failed to load',
    });
  });

  it('refuses at once while the deployment is suspended, and holds requests while it is resumed', async () => {
    const { clock, state, gate } = gateOf();
    state.note = { since: 'monday', suspended: true };
    expect([gate.isShut, await gate.pass(requestOf('a'), stays)]).toMatchObject([
      false,
      { status: 503, code: 'deployment_suspended' },
    ]);
    state.note = { since: 'monday', suspended: true, wakingSince: 'tuesday' };
    const waiting = gate.pass(requestOf('a'), stays);
    await clock.advance(1_000);
    state.note = undefined;
    await clock.advance(25);
    expect(await waiting).toBeUndefined();
    expect(state.asked).toEqual([]);
  });

  it('refuses after the time that it waits at most', async () => {
    const { clock, gate } = gateOf();
    const waiting = gate.pass(requestOf('a'), stays);
    await clock.advance(SLEEP_LIMITS.waitMs + 50);
    expect(await waiting).toMatchObject({ status: 503 });
  });

  it('limits how many wait, of each caller and of all, and forgets those who left', async () => {
    const { clock, gate } = gateOf();
    const left = new AbortController();
    const { most, mostOfCaller } = SLEEP_LIMITS;
    const fill = (key: string): unknown =>
      Array.from({ length: mostOfCaller }, () => gate.pass(requestOf(key), left.signal));
    fill('a');
    expect(await gate.pass(requestOf('a'), stays)).toMatchObject({ status: 429 });
    for (let caller = 1; caller < most / mostOfCaller; caller++) fill(String(caller));
    expect(await gate.pass(requestOf('z'), stays)).toMatchObject({ status: 429 });
    left.abort();
    await clock.advance(50);
    const waiting = gate.pass(requestOf('a'), stays);
    await clock.advance(SLEEP_LIMITS.waitMs + 50);
    expect(await waiting).toMatchObject({ status: 503 });
  });
});
