import { FakeClock } from '#lib/testing';
import { type Asker, CommitLooks } from './commit-looks.js';
import { REASON } from '#lib/resources';
import { CostlyListError, TooManyRefsError } from './find-commit.js';

const silent = (): Promise<string> => new Promise(() => undefined);
const asker = (uid: string, namespace = 'ws-a') => ({
  uid,
  namespace,
  subject: 'https://git.example.com/a.git HEAD',
});

/** Asks while the time passes that a worker waits. */
async function ask(
  { looks, clock }: { readonly looks: CommitLooks; readonly clock: FakeClock },
  who: Asker,
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
    await Promise.resolve();
    expect(await all.looks.ask(asker('a'), look)).toBe('commit');
    expect(begun).toBe(1);
  });

  it('answers a question that was changed with nothing that was found for an earlier one', async () => {
    const all = newLooks();
    let finish = (_commit: string): void => undefined;
    const old = { ...asker('a'), question: '1' };
    expect(await ask(all, old, () => new Promise((resolve) => (finish = resolve)))).toBeUndefined();
    finish('old');
    const changed = { ...asker('a'), question: '2' };
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

  it('keeps places for namespaces without a look', async () => {
    const all = newLooks();
    for (let at = 0; at < 16; at++) await ask(all, asker(`a${at}`, `ws-${at % 4}`), silent);
    const found = (): Promise<string> => Promise.resolve('commit');
    expect(await all.looks.ask(asker('b', 'ws-fair'), found)).toBe('commit');
  });

  it('holds a worker once for a look, however often it is asked for', async () => {
    const all = newLooks();
    await ask(all, asker('a'), silent);
    for (let at = 0; at < 10; at++) expect(await all.looks.ask(asker('a'), silent)).toBeUndefined();
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

  it.each([
    ['was too long', new TooManyRefsError(REASON.repositoryRefused, 'more than 16 MB')],
    ['broke off late', new CostlyListError(REASON.repositoryUnavailable, 'more than 16 MB', 1)],
  ])('reads a list that %s again after ten minutes, or another one', async (_, error) => {
    const { looks, clock } = newLooks();
    let begun = 0;
    const look = (): Promise<string> => {
      begun++;
      return Promise.reject(error);
    };
    for (const uid of ['a', 'a', 'b'])
      await expect(looks.ask(asker(uid), look)).rejects.toThrow('more than 16 MB');
    expect(begun).toBe(1);
    const other = { ...asker('a'), subject: 'https://git.example.com/b.git HEAD' };
    for (const one of [other, asker('a', 'ws-b')])
      await expect(looks.ask(one, look)).rejects.toThrow('more than 16 MB');
    expect(begun).toBe(3);
    await clock.advance(600_000);
    expect(await looks.ask(asker('a'), () => Promise.resolve('commit'))).toBe('commit');
  });
});
