import fc from 'fast-check';
import { cutMember } from './cut-member.js';

describe('cutMember', () => {
  it.each<[string, string, readonly string[], string, string | undefined]>([
    ['the only member', '{"a":1}', ['a'], '{}', '1'],
    ['the first', '{ "a" : [1,{"b":"]"}] , "b":2}', ['a'], '{  "b":2}', '[1,{"b":"]"}]'],
    ['one in the middle', '{"a":1,"b":"\\",}","c":3}', ['b'], '{"a":1,"c":3}', '"\\",}"'],
    ['the last', '{"a":1, "b":null }', ['b'], '{"a":1}', 'null'],
    ['one further in', '{"x":{"a":{},"b":[]},"y":1}', ['x', 'b'], '{"x":{"a":{}},"y":1}', '[]'],
    ['one that is written with escapes', '{"\\u0061":1,"b":2}', ['a'], '{"b":2}', '1'],
    ['none of that name', '{"b":{"a":1}}', ['a'], '{"b":{"a":1}}', undefined],
    ['none in a value that is no object', '{"b":"a"}', ['b', 'a'], '{"b":"a"}', undefined],
    ['none in an empty object', '{ }', ['a'], '{ }', undefined],
  ])('takes out %s', (_title, json, path, rest, cut) => {
    expect(cutMember(json, path)).toEqual({ rest, cut });
  });

  it('leaves what a parser would leave of any object', () => {
    const object = fc.dictionary(fc.constantFrom('a', 'b', '"', '\\', 'ü'), fc.jsonValue());
    fc.assert(
      fc.property(object, fc.constantFrom('a', '"', '\\'), fc.nat(2), (given, name, indent) => {
        const { [name]: value, ...others } = given;
        const { rest, cut } = cutMember(JSON.stringify(given, null, indent), [name]);
        expect(JSON.parse(rest)).toEqual(JSON.parse(JSON.stringify(others)));
        expect(cut && JSON.parse(cut)).toEqual(
          value === undefined ? undefined : JSON.parse(JSON.stringify(value)),
        );
      }),
    );
  });
});
