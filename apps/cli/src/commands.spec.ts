import { Option } from 'commander';
import { COMMANDS, GROUPS, headingOf } from './commands.js';

const rows = COMMANDS.map((command) => [command.words, command] as const);

describe('the table of commands', () => {
  it('has each command once, and a sentence for each noun', () => {
    expect(new Set(rows.map(([words]) => words)).size).toBe(rows.length);
    const nouns = rows.flatMap(([words]) => (words.includes(' ') ? [words.split(' ')[0]] : []));
    expect([...new Set(nouns)].sort()).toEqual(Object.keys(GROUPS).sort());
  });

  it.each(rows)('%s keys its options by the names that the parser gives them', (_words, { options }) => {
    for (const [name, { flags }] of Object.entries(options))
      expect(name).toBe(new Option(flags).attributeName());
  });

  it.each(rows)('%s has a sentence and examples that begin with its words', (words, { about, examples }) => {
    expect(about).toMatch(/^[a-z].*[^.]$/);
    expect(examples.length).toBeGreaterThan(0);
    for (const example of examples) expect(example.startsWith(words)).toBe(true);
  });

  it.each(rows)(
    '%s has a heading in the help, under which its first clause fits into a line',
    (_words, command) => {
      expect(headingOf(command)).not.toBe('');
      const shown = command.words.includes(' ') ? GROUPS[command.words.split(' ')[0] ?? ''] : command.about;
      expect((shown?.split(/[:;,]/)[0] ?? '').length).toBeLessThan(80 - 17);
    },
  );

  it.each(rows)('%s takes optional arguments last', (_words, { arguments: taken = [] }) => {
    const order = taken.map(({ isOptional }) => isOptional === true);
    expect(order).toEqual([...order].sort());
  });
});
