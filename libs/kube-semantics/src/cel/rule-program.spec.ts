import { RuleError, ruleProgram } from './rule-program.js';

function evaluate(rule: string, self: unknown, oldSelf?: unknown): unknown {
  const program = ruleProgram(rule);
  if (program instanceof RuleError) throw program;
  return program.run(oldSelf === undefined ? { self } : { self, oldSelf });
}

describe('functions of Kubernetes', () => {
  test.each([
    ['[1, 2, 3].sum() == 6', true],
    ['[1.5, 2.5].sum() == 4.0', true],
    ["['b', 'a'].min() == 'a' && [1, 3, 2].max() == 3", true],
    ['[1, 2, 2].isSorted() && ![2, 1].isSorted()', true],
    ["['a', 'b', 'a'].indexOf('a') == 0 && ['a', 'b', 'a'].lastIndexOf('a') == 2", true],
    ['sets.contains([1, 2, 3], [1]) && sets.equivalent([1, 1], [1]) && !sets.intersects([1], [2])', true],
    ["'abc 123'.find('[0-9]+') == '123'", true],
    ["'1 22 333'.findAll('[0-9]+', 2) == ['1', '22']", true],
    ["'ABC'.matches('(?i)^abc$')", true],
    ["matches('abc', 'b')", true],
    ["'a-b'.replace('-', '+') == 'a+b' && 'aaa'.replace('a', 'b', 2) == 'bba'", true],
    ["'abc'.charAt(1) == 'b' && 'abc'.reverse() == 'cba'", true],
    ["'%s is %d of %.1f'.format(['a', 1, 2.5]) == 'a is 1 of 2.5'", true],
    ["'%s: %x'.format([[1, 2], 255]) == '[1, 2]: ff'", true],
    ["isURL('https://a.b:80/c?d=e') && url('https://a.b:80/c?d=e').getQuery()['d'] == ['e']", true],
    ["url('https://a.b:80/c').getHostname() == 'a.b' && url('https://a.b:81/c').getPort() == '81'", true],
    ["quantity('1Gi').compareTo(quantity('1024Mi')) == 0 && !isQuantity('x')", true],
    ["quantity('1').add(quantity('500m')).isGreaterThan(quantity('1400m'))", true],
    ["isIP('::1') && ip('127.0.0.1').isLoopback() && ip('::1').family() == 6", true],
    ["cidr('10.0.0.0/8').containsIP('10.1.2.3') && !cidr('10.0.0.0/8').containsIP('11.0.0.1')", true],
    ['[1, 2].existsOne(x, x == 1)', true],
    ['optional.of(3).optMap(x, x + 1).orValue(0) == 4 && optional.none().optMap(x, x).orValue(7) == 7', true],
    ["'matches(x)' == 'matches' + '(x)'", true],
  ])('%s', (rule, expected) => {
    expect(evaluate(rule, {})).toBe(expected);
  });
});

describe('runtime errors of rules', () => {
  test.each([
    ['self.missing == 1', {}, 'no such key: missing'],
    ['self.list[3] == 1', { list: [1n] }, 'index out of bounds: 3'],
    ['1 / self.zero == 1', { zero: 0n }, 'division by zero'],
    ['1 % self.zero == 1', { zero: 0n }, 'modulus by zero'],
    ['self.text < 3', { text: 'a' }, 'no such overload'],
  ])('%s', (rule, self, message) => {
    expect(() => evaluate(rule, self)).toThrow(message);
  });
});

test.each([['self.a ==='], ['nothing(self)'], ['other > 1']])('%s does not compile', (rule) => {
  expect(ruleProgram(rule)).toBeInstanceOf(RuleError);
});

test('a rule that reads the old value counts as a transition rule', () => {
  const uses = (rule: string): unknown => {
    const program = ruleProgram(rule);
    return program instanceof RuleError ? program : program.usesOldSelf;
  };
  expect(uses('self == oldSelf')).toBe(true);
  expect(uses('self.all(x, x in oldSelf.list)')).toBe(true);
  expect(uses("self == 'oldSelf'")).toBe(false);
});

test('a catastrophic expression ends', () => {
  expect(evaluate("self.matches('^(a+)+$')", `${'a'.repeat(5000)}b`)).toBe(false);
});
