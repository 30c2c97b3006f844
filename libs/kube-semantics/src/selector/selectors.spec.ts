import { describe, expect, it } from '@jest/globals';
import type { ServedType } from '../served-type/served-type.js';
import { matchesFields, parseFieldSelector } from './field-selector.js';
import { labelSelectorText, matchesLabels, parseLabelSelector } from './label-selector.js';

describe('a label selector', () => {
  it.each([
    ['a=b', { a: 'b' }, true],
    ['a=b', { a: 'c' }, false],
    ['a==b,c!=d', { a: 'b' }, true],
    ['a!=b', { a: 'b' }, false],
    ['a in (b, c)', { a: 'c' }, true],
    ['a in (b,c),x', { a: 'c' }, false],
    ['a notin (b)', {}, true],
    ['a', { a: '' }, true],
    ['!a', { a: '' }, false],
    ['!a', {}, true],
    ['a=', { a: '' }, true],
    ['a>3', { a: '4' }, true],
    ['a<3', { a: '4' }, false],
    ['', { a: 'b' }, true],
    ['app.kubernetes.io/name=x', { 'app.kubernetes.io/name': 'x' }, true],
    ['in=out', { in: 'out' }, true],
  ])('%s of %j is %s', (text, labels, expected) => {
    expect(matchesLabels(parseLabelSelector(text), labels)).toBe(expected);
  });

  it.each([
    ['a b', "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"],
    ['a=b,', "found '', expected: identifier after ','"],
    ['=a', "found '=', expected: !, identifier, or 'end of string'"],
    ['a constructor (b)', "found 'constructor', expected: in, notin, =, ==, !=, gt, lt"],
    ['a in b', "unable to parse requirement: found 'b' expected: '('"],
    ['a=b c', "found 'c', expected: ',' or 'end of string'"],
  ])('%s is refused', (text, message) => {
    expect(() => parseLabelSelector(text)).toThrow(message);
  });

  it.each([
    ['33 requirements', Array.from({ length: 33 }, (_, at) => `!a${at}`).join()],
    ['501 values', `a in (${Array.from({ length: 501 }, (_, at) => `v${at}`).join()})`],
  ])('refuses a selector of %s: each object is compared with it', (what, text) => {
    expect(() => parseLabelSelector(text)).toThrow(`invalid label selector: it has ${what}, at most`);
  });

  it('renders operators that it does not know as they are', () => {
    const matchExpressions = [{ key: 'c', operator: 'constructor', values: ['x'] }];
    expect(labelSelectorText({ matchExpressions })).toBe('c constructor (x)');
  });

  it('renders a label selector as Kubernetes does', () => {
    const selector = {
      matchLabels: { b: '2', a: '1' },
      matchExpressions: [
        { key: 'c', operator: 'In', values: ['y', 'x'] },
        { key: 'd', operator: 'DoesNotExist' },
      ],
    };
    expect(labelSelectorText(selector)).toBe('!d,a=1,b=2,c in (x,y)');
  });
});

describe('a field selector', () => {
  const pods = {
    type: { group: '', resource: 'pods', namespaced: true, isCustom: false },
    version: { selectableFields: [] },
  } as unknown as ServedType;
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' }, status: { phase: 'Running' } };

  it.each([
    ['metadata.name=a,status.phase!=Failed', true],
    ['metadata.name!=a', false],
    ['spec.hostNetwork=false', true],
  ])('%s is %s', (text, expected) => {
    expect(matchesFields(parseFieldSelector(text, pods), pod)).toBe(expected);
  });

  it('refuses more requirements than each object can be compared with', () => {
    const text = Array.from({ length: 17 }, (_, at) => `status.phase!=p${at}`).join();
    expect(() => parseFieldSelector(text, pods)).toThrow('it has 17 requirements, at most 16 are supported');
  });
});
