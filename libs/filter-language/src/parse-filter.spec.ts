import { describe, expect, it } from '@jest/globals';
import { evaluateFilter } from '../../../test/support/evaluate-filter.js';
import { EXPRESSIONS } from '../../../test/support/filter-expressions.js';
import { FilterError, parseFilter } from './index.js';

function refusal(text: string): FilterError {
  try {
    parseFilter(text);
  } catch (error) {
    if (error instanceof FilterError) return error;
    throw error;
  }
  throw new Error(`accepted: ${text.slice(0, 100)}`);
}

describe('the filter language', () => {
  it.each(EXPRESSIONS)('means what documents say: $filter', ({ filter, finds, leaves }) => {
    const parsed = parseFilter(filter);
    if (!parsed) throw new Error('no filter');
    expect(finds.filter((run) => !evaluateFilter(parsed, run))).toEqual([]);
    expect(leaves.filter((run) => evaluateFilter(parsed, run))).toEqual([]);
  });

  it('takes an empty text for no filter', () => {
    expect(parseFilter('')).toBeUndefined();
    expect(parseFilter(' \n')).toBeUndefined();
  });

  it('keeps the position of every condition', () => {
    expect(parseFilter('and( eq(name, "a"), not(has(tags, "b")))')).toMatchObject({
      kind: 'and',
      at: 0,
      conditions: [
        { kind: 'compare', at: 5 },
        { kind: 'not', at: 20, condition: { kind: 'tag', at: 24 } },
      ],
    });
  });

  it.each([
    ['eq(name, "a"', 12, 'found the end of the filter where "," or ")" should follow'],
    ['eq(name, "a"))', 13, 'unexpected ")" after the end of the condition'],
    ['eq(name, "a") eq(name, "b")', 14, 'put several conditions into and(…) or or(…)'],
    ['and()', 0, 'and has no condition; write and(condition, …)'],
    ['not(eq(name, "a"), eq(name, "b"))', 0, 'not has 2 conditions'],
    ['equals(name, "a")', 0, 'operators are and, or, not, eq'],
    ['eqq(name, "a")', 0, 'did you mean eq?'],
    ['Eq(name, "a")', 0, 'did you mean eq?'],
    ['eq(nmae, "a")', 3, 'unknown field "nmae"; did you mean name?'],
    ['eq(session_id, "a")', 3, 'unknown field "session_id"'],
    ['gt(latency, "5 parsecs")', 12, '"250ms", "5s", "2m", "1.5h", "1d"; found the text "5 parsecs"'],
    ['gt(latency, "99999999d")', 12, 'latency is compared with'],
    ['gt(latency, 1e99)', 12, 'latency is compared with'],
    ['eq(run_type, "foo")', 13, 'run_type is never "foo"; it is one of tool, chain, llm'],
    ['eq(run_type, "LLM")', 13, 'did you mean "llm"?'],
    ['gt(name, "a")', 3, 'gt does not apply to name; use eq, neq, in, like, search'],
    ['eq(tags, "a")', 3, 'eq does not apply to tags; use has, search'],
    ['eq(name, null)', 9, 'every run has name'],
    ['gt(end_time, null)', 13, 'end_time is compared with a time in quotes'],
    ['gt(start_time, "yesterday")', 15, 'found the text "yesterday"'],
    ['gt(start_time, "2026-02-30")', 15, 'start_time is compared with a time'],
    ['eq(total_tokens, "5000")', 17, 'write 5000 without quotes'],
    ['eq(is_root, "true")', 12, 'write true without quotes'],
    ['eq(name, ChatOpenAI)', 9, 'write "ChatOpenAI", in quotes'],
    ['eq(id, "7")', 7, 'id is compared with a uuid in quotes; found the text "7"'],
    ['eq(name)', 0, 'eq has 1 argument; write eq(field, value)'],
    ['eq("a", "b")', 3, 'unknown field "a"'],
    ['eq(5, "b")', 3, 'eq takes a field first; found the number 5'],
    ['in(name, "a")', 9, 'in(name, …) takes a list'],
    ['in(name, [["a"]])', 10, 'unexpected "[" in a list'],
    ['in(name, [null])', 10, 'every run has name'],
    ['eq(name, ["a"])', 9, 'found a list'],
    ['search("")', 0, 'at least one character'],
    ['search(latency, "a")', 7, 'search does not apply to latency'],
    ['search(5)', 7, 'search takes a text in quotes; found the number 5'],
    ['has(metadata, "a")', 14, 'has(metadata, …) takes a JSON object in quotes'],
    ['has(metadata, \'["a"]\')', 14, 'takes a JSON object'],
    [String.raw`has(metadata, '{"a": "\\u0000"}')`, 14, 'NUL'],
    ['has(metadata, \'{"a": 1e999}\')', 14, 'too large'],
    ['has(metadata, \'{"a": 1, "a": 2}\')', 14, 'comes twice'],
    [`has(metadata, '{"a": ${'['.repeat(30)}${']'.repeat(30)}}')`, 14, 'nested too deeply'],
    ['eq(name, "a', 9, 'a text in quotes has no end; expected "'],
    [String.raw`eq(name, "\d")`, 10, 'unknown escape "\\\\d"'],
    [String.raw`eq(name, "\u12")`, 10, 'unknown escape'],
    [String.raw`eq(name, "a\u0000")`, 9, 'U+0000'],
    [String.raw`eq(name, "\ud83d")`, 9, 'half of a surrogate pair'],
    ['eq(total_tokens, 1.)', 17, 'unexpected "1.)"'],
    ['eq(total_tokens, 05x)', 17, 'unexpected "05x)"'],
    ['name = "a"', 5, 'unexpected "= \\"a\\""'],
    ['name', 0, 'expected a condition; found name'],
    ['eq', 0, 'expected a condition'],
    ['eq(name, eq(name, "a"))', 9, 'found the condition eq(…)'],
    ['and(and)', 4, 'expected a condition; found and'],
    ['constructor(name, "a")', 0, 'unknown operator'],
    ['eq(__proto__, "a")', 3, 'unknown field'],
    [`eq(metadata_value, "${'a'.repeat(251)}")`, 19, 'first 250 characters'],
    ['and(eq(metadata_key, "a"), eq(metadata_key, "b"))', 27, 'put each pair into an and(…) of its own'],
    ['and(eq(input_key, "a"), eq(input_value, 1), in(input_value, [2]))', 44, 'a second in(input_value, …)'],
  ])('refuses %s at position %d', (filter, offset, message) => {
    const error = refusal(filter);
    expect(error.message).toContain(message);
    expect([error.offset, error.message]).toEqual([offset, expect.stringContaining(`position ${offset}: `)]);
  });

  it.each([
    ['characters', `eq(name, "${'a'.repeat(2 ** 20)}")`, '8192'],
    ['levels', `${'not('.repeat(1000)}eq(name, "a")${')'.repeat(1000)}`, '10 levels'],
    ['calls', `or(${Array(200).fill('eq(name,"")').join(',')})`, '200 conditions'],
    ['items of a list', `in(total_tokens, [${Array(201).fill(1).join(',')}])`, '200 items'],
    ['searches', `or(${Array(11).fill('search("a")').join(',')})`, 'more than 10 conditions on error'],
    ['pairs', `or(${Array(11).fill('eq(metadata_key, "k")').join(',')})`, 'more than 10 conditions on error'],
    ['errors', `and(${Array(11).fill('like(error, "%")').join(',')})`, 'more than 10 conditions on error'],
    ['characters of a number', `eq(total_tokens, ${'1'.repeat(41)})`, 'at most 40'],
  ])('refuses too many %s, naming the limit', (_what, filter, limit) => {
    expect(refusal(filter).message).toContain(limit);
  });

  it('accepts a filter at its limits', () => {
    const deep = `${'not('.repeat(9)}eq(name, "a")${')'.repeat(9)}`;
    const many = `or(${Array(199).fill('eq(name,"")').join(',')})`;
    for (const filter of [deep, many, `eq(name, "${'a'.repeat(8_192 - 12)}")`])
      expect(parseFilter(filter)).toBeDefined();
  });

  it('refuses a raw U+0000', () => {
    expect(refusal('eq(name, "a\0")').message).toContain('U+0000');
  });

  it('shows long texts of a caller cut', () => {
    expect(refusal(`eq(id, "${'😀'.repeat(1_000)}")`).message.length).toBeLessThan(300);
  });
});
