import { renderJsonPath } from './json-path-template.js';

const LIST = {
  items: [
    { metadata: { name: 'a', labels: { 'app.kubernetes.io/name': 'x' } }, ready: true },
    { metadata: { name: 'b' }, ready: false, count: 2 },
  ],
};

describe('renderJsonPath', () => {
  it.each([
    ['a path', '{.items[0].metadata.name}', 'a'],
    ['a path without braces', '.items[1].metadata.name', 'b'],
    ['a path without its first dot', '{items[*].metadata.name}', 'a b'],
    ['text around paths', 'first={.items[0].metadata.name};', 'first=a;'],
    ['a quoted text with escapes', '{.items[0].ready}{"\\t"}{.items[1].count}', 'true\t2'],
    ['a loop', '{range .items[*]}{.metadata.name}{"\\n"}{end}', 'a\nb\n'],
    ['a loop within a loop', '{range .items[*]}<{range .metadata}{.name}{end}>{end}', '<a><b>'],
    ['a filter', '{.items[?(@.ready==true)].metadata.name}', 'a'],
    ['a key with dots', "{.items[0].metadata.labels['app\\.kubernetes\\.io/name']}", 'x'],
    ['an object', '{.items[1].metadata}', '{"name":"b"}'],
    ['nothing for a missing field', '[{.nothing.there}]', '[]'],
    ['the whole value', '{.items[1].count}{$.none}', '2'],
  ])('renders %s', (_what, template, expected) => {
    expect(renderJsonPath(template, LIST)).toBe(expected);
  });

  it('renders the elements of an array', () => {
    expect(renderJsonPath('{[*].metadata.name}', LIST.items)).toBe('a b');
  });

  it.each([
    ['an unfinished brace', '{.items', /cannot be read at \{\.items/],
    ['an end without its loop', '{end}', /\{end\} without \{range\}/],
    ['a loop without its end', '{range .items[*]}{.a}', /\{range\} without \{end\}/],
    ['a path that is none', '{.items[?(@.a>1)]}', /cannot be read at \{\.items\[\?/],
  ])('refuses %s', (_what, template, message) => {
    expect(() => renderJsonPath(template, LIST)).toThrow(message);
  });
});
