import { setImmediate } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from '@jest/globals';
import type { StoredObject } from '../store/stored-object.js';
import { SharedTexts } from './watch-hub.js';

const stored = (revision: number): StoredObject => ({
  object: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } },
  json: '',
  revision,
});

describe('the shared texts of an object', () => {
  let prints: number;
  beforeEach(() => {
    prints = 0;
  });
  const print = (): string => `text ${++prints}`;

  it('prints once for each form, and again for another object', () => {
    const texts = new SharedTexts();
    const [first, second] = [stored(1), stored(2)];
    const shown = [first, first, first, second, second].map((one, index) =>
      texts.get(one, index === 1 ? 'row' : 'table', print),
    );
    expect(shown).toEqual(['text 1', 'text 2', 'text 1', 'text 3', 'text 3']);
  });

  it('keeps few, however many forms are asked for', () => {
    const texts = new SharedTexts();
    const one = stored(1);
    for (let index = 0; index < 100; index++) texts.get(one, `form ${index}`, print);
    for (let index = 0; index < 100; index++) texts.get(one, `form ${index}`, print);
    expect(prints).toBeGreaterThan(190);
  });

  it('prints once what a change shows in turns of what an object is and was', () => {
    const texts = new SharedTexts();
    const [after, left] = [stored(2), stored(1)];
    for (let watch = 0; watch < 100; watch++)
      texts.get(watch % 2 ? after : left, `table ${Math.floor(watch / 2) % 12}`, print);
    expect(prints).toBe(24);
  });

  it('keeps nothing for the next turn of the event loop', async () => {
    const texts = new SharedTexts();
    texts.get(stored(1), 'table', print);
    const one = stored(2);
    texts.get(one, 'table', print);
    await setImmediate();
    texts.get(one, 'table', print);
    expect(prints).toBe(3);
  });
});
