import { beforeEach, describe, expect, it } from '@jest/globals';
import type { StoredObject } from '../store/stored-object.js';
import { SharedTexts } from './shared-texts.js';

const stored = (revision: number): StoredObject => ({
  object: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } },
  ...{ json: '', revision },
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
});
