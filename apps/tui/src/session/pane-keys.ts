import type { KeyBinding } from './table-keys.js';
import {
  type Facts,
  newPane,
  type Pane,
  paneOf,
  type Pressed,
  type Session,
  withAbove,
  withoutOverlay,
} from './session.js';

function withPane(session: Session, change: Partial<Pane>): Pressed {
  const pane = paneOf(session);
  return {
    session: pane ? { ...session, overlay: { kind: 'pane', pane: { ...pane, ...change } } } : session,
  };
}

/** The first line that is shown, of as many as there are. */
export function firstLine({ top }: Pick<Pane, 'top'>, lines: number, page: number): number {
  const last = Math.max(0, lines - page);
  return top === 'end' ? last : Math.max(0, Math.min(last, top));
}

function moves(step: (facts: Facts) => number): KeyBinding['press'] {
  return (session, facts) => {
    const pane = paneOf(session);
    if (!pane) return { session };
    const wanted = firstLine(pane, facts.lines, facts.page) + step(facts);
    return withPane(session, { top: Math.max(0, Math.min(Math.max(0, facts.lines - facts.page), wanted)) });
  };
}

function finds(direction: 1 | -1): KeyBinding['press'] {
  return (session, { found, lines, page }) => {
    const pane = paneOf(session);
    if (!pane || found.length === 0) return { session };
    const at = firstLine(pane, lines, page);
    const next =
      direction === 1
        ? (found.find((line) => line > at) ?? found[0])
        : (found.findLast((line) => line < at) ?? found.at(-1));
    return next === undefined ? { session } : withPane(session, { top: next });
  };
}

const isLog = (session: Session): boolean => ['logs', 'previous'].includes(paneOf(session)?.text ?? '');

function since(minutes: number | undefined): KeyBinding['press'] {
  return (session) => {
    const pane = paneOf(session);
    if (!pane) return { session };
    const { sinceMs: _former, ...rest } = pane;
    const chosen = minutes === undefined ? {} : { sinceMs: minutes * 60_000 };
    return { session: { ...session, overlay: { kind: 'pane', pane: { ...rest, ...chosen, top: 'end' } } } };
  };
}

const SINCE: readonly (readonly [string, number | undefined, string])[] = [
  ['0', undefined, 'everything that is kept'],
  ['1', 1, 'the last minute'],
  ['2', 5, 'the last 5 minutes'],
  ['3', 15, 'the last 15 minutes'],
  ['4', 60, 'the last hour'],
];

/** Keys of everything that is read: logs, descriptions, YAML, traces. */
export const PANE_KEYS: readonly KeyBinding[] = [
  { keys: ['k', 'up'], label: '↑ k', about: 'a line up', press: moves(() => -1) },
  { keys: ['j', 'down'], label: '↓ j', about: 'a line down', press: moves(() => 1) },
  { keys: ['pageup', 'ctrl-b'], label: 'PgUp ^b', about: 'a page up', press: moves(({ page }) => -page) },
  {
    keys: ['pagedown', 'ctrl-f', ' '],
    label: 'PgDn ^f',
    about: 'a page down',
    press: moves(({ page }) => page),
  },
  {
    keys: ['home', 'g'],
    label: 'Home g',
    about: 'to the beginning',
    press: (session) => withPane(session, { top: 0 }),
  },
  {
    keys: ['end', 'G'],
    label: 'End G',
    about: 'to the end, and follow it; any other move stops',
    short: 'follow',
    press: (session) => withPane(session, { top: 'end' }),
  },
  {
    keys: ['left'],
    label: '←',
    about: 'to the left',
    press: (s) => withPane(s, { left: Math.max(0, (paneOf(s)?.left ?? 0) - 20) }),
  },
  {
    keys: ['right'],
    label: '→',
    about: 'to the right',
    press: (s) => withPane(s, { left: (paneOf(s)?.left ?? 0) + 20 }),
  },
  {
    keys: ['s', 'ctrl-s'],
    label: 's',
    about: 'save to a file of the current folder',
    short: 'save',
    press: (session) => ({ session, effect: { kind: 'save' } }),
  },
  {
    keys: ['c'],
    label: 'c',
    about: 'copy (OSC 52)',
    short: 'copy',
    press: (session) => ({ session, effect: { kind: 'copy-shown' } }),
  },
  {
    keys: ['r'],
    label: 'r',
    about: 'as it was written, in JSON, or for people',
    short: 'raw',
    isOffered: (session) => isLog(session) || paneOf(session)?.text === 'run',
    press: (s) => withPane(s, { isRaw: paneOf(s)?.isRaw !== true }),
  },
  {
    keys: ['w'],
    label: 'w',
    about: 'wrap long lines, or cut them',
    short: 'wrap',
    press: (s) => withPane(s, { isWrapped: paneOf(s)?.isWrapped !== true }),
  },
  {
    keys: ['/'],
    label: '/',
    about: 'search; of a log only lines with that text, Esc shows all',
    short: 'search',
    press: (s) => withPane(s, { isSearching: true }),
  },
  {
    keys: ['e'],
    label: 'e',
    about: 'errors only, or everything',
    short: 'errors',
    isOffered: isLog,
    press: (s) => withPane(s, { isErrorsOnly: paneOf(s)?.isErrorsOnly !== true, top: 'end' }),
  },
  { keys: ['n'], label: 'n', about: 'next that was found', press: finds(1) },
  { keys: ['N'], label: 'N', about: 'the one before', press: finds(-1) },
  {
    keys: ['p'],
    label: 'p',
    about: 'logs before the last restart, or those of now',
    isOffered: isLog,
    press: (session) => {
      const pane = paneOf(session);
      if (!pane) return { session };
      const text = pane.text === 'logs' ? 'previous' : 'logs';
      return { session: { ...session, overlay: newPane(text, pane.key, `${text} of ${pane.key}`) } };
    },
  },
  ...SINCE.map(([key, minutes, about]): KeyBinding => ({
    keys: [key],
    label: key,
    about,
    isOffered: isLog,
    press: since(minutes),
  })),
  {
    keys: [':'],
    label: ':',
    about: 'go to a view',
    short: 'view',
    press: (session) => ({ session: withAbove(session, 'prompt') }),
  },
  {
    keys: ['?', 'h'],
    label: '?',
    about: 'help',
    short: 'help',
    press: (session) => ({ session: withAbove(session, 'help') }),
  },
  { keys: [], label: 'mouse', about: 'with --mouse: the wheel moves', press: (session) => ({ session }) },
  {
    keys: ['escape', 'q'],
    label: 'esc',
    about: 'back',
    short: 'back',
    press: (session) => ({ session: withoutOverlay(session) }),
  },
];

/** Keys while the text to search for is typed. */
export function pressSearch(session: Session, name: string): Pressed {
  const pane = paneOf(session);
  if (!pane) return { session };
  if (name === 'enter') return withPane(session, { isSearching: false });
  if (name === 'escape') return withPane(session, { isSearching: false, search: '' });
  return withPane(session, { search: typed(pane.search, name) });
}

/** A line of text after one key. */
export function typed(text: string, name: string): string {
  if (name === 'backspace' || name === 'delete') return [...text].slice(0, -1).join('');
  if (name === 'ctrl-u') return '';
  if (name === 'ctrl-w') return text.replace(/\S+\s*$/, '');
  return [...name].length === 1 ? text + name : text;
}
