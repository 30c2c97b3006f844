import { setImmediate } from 'node:timers/promises';
import { FakeClock } from '#lib/testing';
import { BodyTurns, type BodyTurn } from './body-turns.js';

const MIB = 2 ** 20;
const NEVER = new AbortController().signal;

let clock: FakeClock;
let turns: BodyTurns;
let begun: string[];

beforeEach(() => {
  clock = new FakeClock();
  turns = new BodyTurns(8 * MIB, clock);
  begun = [];
});

function enter(
  name: string,
  length: number | undefined,
  { caller = 'alice', gone = NEVER } = {},
): Promise<BodyTurn | undefined> {
  const turn = turns.enter({ caller, length }, gone);
  void turn.then(
    () => begun.push(name),
    () => undefined,
  );
  return turn;
}

describe('BodyTurns', () => {
  it('takes a hundred bodies at once in their order, never more than the limit', async () => {
    const all = Array.from({ length: 100 }, (_, n) => enter(`${n}`, MIB));
    let most = 0;
    for (const turn of all) {
      const { arrived, leave } = (await turn) ?? {};
      arrived?.({ length: MIB, values: 0 });
      most = Math.max(most, turns.taken);
      leave?.();
      leave?.();
    }
    expect(most).toBe(8 * MIB);
    expect(begun).toEqual(all.map((_turn, n) => `${n}`));
    expect([turns.taken, clock.pending]).toEqual([0, 0]);
  });

  it('lets small bodies pass those that wait', async () => {
    await Promise.all([enter('one', 4 * MIB), enter('two', undefined)]);
    void enter('third', 4 * MIB);
    await enter('small', 60_000);
    expect(begun).toEqual(['one', 'two', 'small']);
  });

  it('takes the turn from a body that does not arrive, and from work that does not end', async () => {
    const [, working] = await Promise.all([enter('slow', 64 * MIB), enter('working', 64 * MIB)]);
    working?.arrived({ length: 64 * MIB, values: 0 });
    void enter('third', 4 * MIB);
    void enter('fourth', 4 * MIB);
    await clock.advance(1_000);
    await setImmediate();
    expect(begun).toEqual(['slow', 'working', 'third']);
    await clock.advance(4_000);
    await setImmediate();
    expect(begun).toEqual(['slow', 'working', 'third', 'fourth']);
    working?.leave();
    expect(turns.taken).toBeLessThanOrEqual(8 * MIB);
  });

  it('passes over a body whose client has gone', async () => {
    const [first] = await Promise.all([enter('first', 4 * MIB), enter('second', 4 * MIB)]);
    const left = new AbortController();
    const gone = enter('gone', 4 * MIB, { gone: left.signal });
    void enter('next', 4 * MIB);
    left.abort();
    expect(await gone).toBeUndefined();
    first?.leave();
    await setImmediate();
    expect(begun).toEqual(['first', 'second', 'gone', 'next']);
    expect(turns.taken).toBe(8 * MIB);
  });

  it('lets a caller wait for one turn, however many bodies of another wait', async () => {
    const silent = Array.from({ length: 400 }, (_none, n) => enter(`silent ${n}`, undefined));
    await silent[1];
    void enter('bob', 100_000, { caller: 'bob' });
    void enter('carol', 100_000, { caller: 'carol' });
    await clock.advance(1_000);
    await setImmediate();
    expect(begun).toEqual(['silent 0', 'silent 1', 'silent 2', 'bob', 'carol']);
  });

  it('counts a body without a length as what it was once it has arrived', async () => {
    const [first, second] = await Promise.all([enter('first', undefined), enter('second', undefined)]);
    expect(turns.taken).toBe(8 * MIB);
    first?.arrived({ length: 1_000, values: 0 });
    second?.arrived({ length: MIB, values: 0 });
    expect(turns.taken).toBe(MIB);
    second?.leave();
    expect([turns.taken, clock.pending]).toEqual([0, 0]);
  });

  it('refuses a caller whose requests hold much without a turn, and any once all hold too much', async () => {
    const hold = async (caller: string): Promise<BodyTurn | undefined> => {
      const turn = await enter(caller, 4 * MIB, { caller });
      turn?.arrived({ length: 4 * MIB, values: 0 });
      await clock.advance(5_000);
      return turn;
    };
    const held = [await hold('alice'), await hold('alice')];
    const refused = expect.objectContaining({ code: 'too_many' });
    await expect(hold('alice')).rejects.toEqual(refused);
    held[0]?.abandon();
    await expect(hold('alice')).rejects.toEqual(refused);
    held[0]?.leave();
    held.push(await hold('alice'));
    for (const caller of ['bob', 'bob', 'carol', 'carol', 'dave', 'dave']) held.push(await hold(caller));
    await expect(hold('erin')).rejects.toEqual(expect.objectContaining({ code: 'unavailable' }));
    for (const turn of held) turn?.leave();
    const again = await hold('alice');
    again?.leave();
    expect([turns.taken, clock.pending]).toEqual([0, 0]);
  });

  it('counts the values of a body that goes on without a turn, at most as the share of its caller', async () => {
    const [held] = await Promise.all([enter('listed', MIB), enter('bob', MIB, { caller: 'bob' })]);
    held?.arrived({ length: MIB, values: 500_000 });
    await clock.advance(5_000);
    await expect(enter('more', MIB)).rejects.toEqual(expect.objectContaining({ code: 'too_many' }));
    expect(await enter('others', MIB, { caller: 'carol' })).toBeDefined();
  });

  it('refuses a caller whose small bodies hold much, by their values, until they are done with', () => {
    const small = { length: 60_000, values: 20_000 };
    const held: BodyTurn[] = [];
    const fill = (): void => {
      for (let n = 0; n < 1_000; n++) held.push(turns.admitSmall('alice', small));
    };
    expect(fill).toThrow(expect.objectContaining({ code: 'too_many' }));
    expect(held.length).toBeGreaterThan(20);
    turns.admitSmall('bob', small).leave();
    for (const one of held) one.abandon();
    expect(fill).toThrow();
    for (const one of held) one.leave();
    turns.admitSmall('alice', small).leave();
    expect(clock.pending).toBe(0);
  });

  it('refuses what waited while its caller came to hold much', async () => {
    const [first, second] = await Promise.all([enter('first', 4 * MIB), enter('second', 4 * MIB)]);
    const waiting = Promise.allSettled([enter('third', 4 * MIB), enter('fourth', 4 * MIB)]);
    for (const turn of [first, second]) turn?.arrived({ length: 4 * MIB, values: 0 });
    await clock.advance(5_000);
    expect((await waiting).map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    expect(turns.taken).toBe(4 * MIB);
  });
});
