import { FakeClock } from '#lib/testing';
import { CommitLooks } from './commit-looks.js';

const silent = (): Promise<string> => new Promise(() => undefined);
const asker = (uid: string, namespace = 'ws-a') => ({ uid, namespace });

/** Asks while the time passes that a worker waits. */
async function ask(
  { looks, clock }: { readonly looks: CommitLooks; readonly clock: FakeClock },
  who: { readonly uid: string; readonly namespace: string },
  look: () => Promise<string>,
): Promise<string | undefined> {
  const answer = looks.ask(who, look);
  await clock.advance(1_000);
  return await answer;
}

describe('CommitLooks', () => {
  const newLooks = () => {
    const clock = new FakeClock();
    return { clock, looks: new CommitLooks(clock) };
  };

  it('answers at once what a host says at once', async () => {
    const { looks } = newLooks();
    expect(await looks.ask(asker('a'), () => Promise.resolve('commit'))).toBe('commit');
    await expect(looks.ask(asker('a'), () => Promise.reject(new Error('refused')))).rejects.toThrow(
      'refused',
    );
  });

  it('lets go of its worker after a second, and has the result for the next pass', async () => {
    const all = newLooks();
    let finish = (_commit: string): void => undefined;
    let begun = 0;
    const look = (): Promise<string> => {
      begun++;
      return new Promise((resolve) => (finish = resolve));
    };
    expect(await ask(all, asker('a'), look)).toBeUndefined();
    expect(await ask(all, asker('a'), look)).toBeUndefined();
    finish('commit');
    expect(await all.looks.ask(asker('a'), look)).toBe('commit');
    expect(begun).toBe(1);
  });

  it('answers a question that was changed with nothing that was found for an earlier one', async () => {
    const all = newLooks();
    let finish = (_commit: string): void => undefined;
    const old = { ...asker('a'), generation: 1 };
    expect(await ask(all, old, () => new Promise((resolve) => (finish = resolve)))).toBeUndefined();
    finish('old');
    const changed = { ...asker('a'), generation: 2 };
    expect(await all.looks.ask(changed, () => Promise.resolve('new'))).toBe('new');
  });

  it('gives one namespace four places of sixteen', async () => {
    const all = newLooks();
    let begun = 0;
    const look = (): Promise<string> => (begun++, silent());
    for (let at = 0; at < 6; at++) await ask(all, asker(`a${at}`), look);
    expect(begun).toBe(4);
    for (let at = 0; at < 20; at++) await ask(all, asker(`b${at}`, `ws-${at}`), look);
    expect(begun).toBe(16);
  });

  it('forgets a result that is not fetched for a minute', async () => {
    const all = newLooks();
    const fail = (): Promise<string> => Promise.reject(new Error('late'));
    let reject = (_error: Error): void => undefined;
    await ask(all, asker('a'), () => new Promise((_, no) => (reject = no)));
    reject(new Error('late'));
    await Promise.resolve();
    await all.clock.advance(61_000);
    expect(await all.looks.ask(asker('a'), () => Promise.resolve('new'))).toBe('new');
    await expect(all.looks.ask(asker('a'), fail)).rejects.toThrow('late');
  });
});
