import type { Key } from 'ink';

/** Ink’s names for keys that print nothing, and ours. */
const NAMES: readonly (readonly [keyof Key, string])[] = [
  ['upArrow', 'up'],
  ['downArrow', 'down'],
  ['leftArrow', 'left'],
  ['rightArrow', 'right'],
  ['pageUp', 'pageup'],
  ['pageDown', 'pagedown'],
  ['home', 'home'],
  ['end', 'end'],
  ['return', 'enter'],
  ['escape', 'escape'],
  ['tab', 'tab'],
  ['backspace', 'backspace'],
  ['delete', 'delete'],
];

/**
 * The keys of one input, named as in the key table: `up`, `ctrl-d`, ` `, `A`. A key that is held, or a slow terminal,
 * makes several of one input.
 */
export function keyNamesOf(input: string, key: Key): readonly string[] {
  const special = NAMES.find(([name]) => key[name] === true)?.[1];
  if (special === 'tab' && key.shift) return ['shift-tab'];
  if (special !== undefined) return [special];
  if (key.ctrl) return input === '' ? [] : [`ctrl-${input}`];
  if (key.meta) return [];
  // before the terminal is raw it makes a line feed of Enter
  return [...input].map((character) => (character === '\r' || character === '\n' ? 'enter' : character));
}
