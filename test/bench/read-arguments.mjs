import { parseArgs } from 'node:util';

/**
 * Reads what a benchmark was given. `--help` prints the help and ends the process; what the benchmark does not know is
 * named and ends it with 2, before anything is measured.
 * @param {string} help its first line is the command
 * @param {object} known
 * @param {Readonly<Record<string, number>>} [known.counts] names of whole numbers in their order, with their defaults
 * @param {(word: string, at: number) => unknown} [known.more] reads each further word; none may follow without it
 * @param {object} [known.options] as `parseArgs` takes them; of type `count` besides, whole numbers
 * @returns the counts by their names, what the further words are, the options' values
 */
export function readArguments(help, { counts = {}, more, options = {} } = {}) {
  try {
    const { values, positionals } = parseArgs({ options: textOptions(options), allowPositionals: true });
    if (values.help) end(0, help);
    const names = Object.keys(counts);
    const rest = positionals.slice(names.length);
    if (rest.length > 0 && more === undefined) throw new Error(`unknown argument ${rest.join(' ')}`);
    const given = names.map((name, n) => [name, countOf(name, positionals[n] ?? counts[name])]);
    const read = Object.entries(values).map(([name, value]) => [
      name,
      options[name]?.type === 'count' ? countOf(`--${name}`, value) : value,
    ]);
    return {
      ...{ counts: Object.fromEntries(given), more: rest.map((word, at) => more(word, at)) },
      values: Object.fromEntries(read),
    };
  } catch (error) {
    return refuse(error.message, help);
  }
}

/** Ends the process with what is wrong with its arguments. */
export function refuse(problem, help) {
  return end(2, `${problem}\n\n${help}`);
}

/** @throws for anything but a whole number from 1 on */
export function countOf(name, word) {
  const count = Number(word);
  if (!Number.isInteger(count) || count < 1) throw new Error(`${name} ${word}: give a whole number`);
  return count;
}

/** Those of `parseArgs`. */
function textOptions(options) {
  const all = Object.entries({ ...options, help: { type: 'boolean', default: false } });
  return Object.fromEntries(
    all.map(([name, option]) => [
      name,
      option.type === 'count' ? { type: 'string', default: String(option.default) } : option,
    ]),
  );
}

function end(code, text) {
  (code === 0 ? process.stdout : process.stderr).write(text.endsWith('\n') ? text : `${text}\n`);
  process.exit(code);
}
