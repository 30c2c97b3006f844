import { jsonContains } from './json-contains.js';
import { jsonEquals } from './json-equals.js';

describe('comparison of JSON', () => {
  it.each<[string, unknown, unknown, boolean, boolean]>([
    ['fields in another order', { a: 1, b: [1, { c: 2 }] }, { b: [1, { c: 2 }], a: 1 }, true, true],
    ['an undefined field and an absent one', { a: undefined }, {}, true, true],
    ['an absent field and an undefined one', {}, { a: undefined }, true, true],
    ['a whole with more fields', { a: 1 }, { a: 1, b: 2 }, false, true],
    ['a part with more fields', { a: 1, b: 2 }, { a: 1 }, false, false],
    ['lists of different lengths', { a: [1] }, { a: [1, 2] }, false, false],
    ['an element with more fields', { a: [{ x: 1 }] }, { a: [{ x: 1, y: 2 }] }, false, true],
    ['null and an empty object', { a: null }, { a: {} }, false, false],
    ['a field that only the prototype has', { constructor: Object }, { b: 1 }, false, false],
  ])('answers for %s', (_name, part, whole, isEqual, isContained) => {
    expect([jsonEquals(part, whole), jsonContains(part, whole)]).toEqual([isEqual, isContained]);
  });
});
