import { getView } from '../views/all-views.js';
import type { TextKind } from '../views/view.js';
import { swap, switchNamespace, travel } from './prompt.js';
import {
  type Facts,
  newFrame,
  newPane,
  type Pressed,
  pushFrame,
  selectedIndex,
  type Session,
  topFrame,
  withAbove,
  withFrame,
} from './session.js';

/** Effect of a key; the help and the footer are made from the same entries. */
export interface KeyBinding {
  readonly keys: readonly string[];
  /** Empty for a key that another entry of the help names. */
  readonly label: string;
  /** Text in the help. */
  readonly about: string;
  /** Text in the footer, which has space for the most needed keys only. */
  readonly short?: string;
  /** Returns true when the view has it. */
  readonly isOffered?: (session: Session) => boolean;
  readonly press: (session: Session, facts: Facts) => Pressed;
}

function moveTo(session: Session, facts: Facts, wanted: number): Pressed {
  const index = Math.max(0, Math.min(facts.size - 1, wanted));
  return { session: withFrame(session, { cursor: { key: facts.keyAt(index), index } }) };
}

function moveBy(step: (facts: Facts) => number): KeyBinding['press'] {
  return (session, facts) => moveTo(session, facts, selectedIndex(topFrame(session), facts) + step(facts));
}

/** The selected row; undefined when there are none. */
export function selectedKey(session: Session, facts: Facts): string | undefined {
  const at = selectedIndex(topFrame(session), facts);
  return at < 0 ? undefined : facts.keyAt(at);
}

function onSelected(act: (session: Session, key: string, facts: Facts) => Pressed): KeyBinding['press'] {
  return (session, facts) => {
    const key = selectedKey(session, facts);
    return key === undefined ? { session } : act(session, key, facts);
  };
}

function opens(text: TextKind): KeyBinding['press'] {
  return onSelected((session, key) => ({
    session: { ...session, overlay: newPane(text, key, `${text} of ${key}`) },
  }));
}

function hasText(text: TextKind): (session: Session) => boolean {
  return (session) => getView(topFrame(session).view).texts?.includes(text) ?? false;
}

const isAgents = (session: Session): boolean => topFrame(session).view === 'deployments';

const isKube = (session: Session): boolean => getView(topFrame(session).view).source.kind === 'kube';

/** Takes the step of Enter. */
function enter(session: Session, key: string, { stepOf }: Facts): Pressed {
  const step = stepOf(key);
  switch (step?.kind) {
    case 'view':
      return { session: pushFrame(session, newFrame(step.view, step.scope)) };
    case 'text':
      return { session: { ...session, overlay: newPane(step.text, key, `${step.text} of ${key}`) } };
    case 'namespace':
      return { session: switchNamespace(session, step.namespace) };
    case undefined:
      return { session };
    default:
      return step satisfies never;
  }
}

/** Opens rows of REST that belong to the selected one. */
function opensView(session: Session, key: string, view: string, field: string): Pressed {
  const name = key.split('/').at(-1) ?? key;
  const scope = { title: name, field, value: name, namespace: undefined };
  return { session: pushFrame(session, newFrame(view, scope)) };
}

/** One level back: the filter, then the table. */
function back(session: Session): Pressed {
  if (topFrame(session).filter !== '') return { session: withFrame(session, { filter: '' }) };
  if (topFrame(session).isErrorsOnly) return { session: withFrame(session, { isErrorsOnly: false }) };
  if (topFrame(session).marks.size > 0) return { session: withFrame(session, { marks: new Set() }) };
  const [first, ...rest] = session.stack;
  return { session: rest.length === 0 ? session : { ...session, stack: [first, ...rest.slice(0, -1)] } };
}

function save(session: Session, { size }: Facts): Pressed {
  return size === 0 ? { session } : { session, effect: { kind: 'save' } };
}

function quit(session: Session): Pressed {
  return { session, effect: { kind: 'quit' } };
}

function mark(session: Session, key: string, facts: Facts): Pressed {
  const marks = new Set(topFrame(session).marks);
  if (!marks.delete(key)) marks.add(key);
  const marked = withFrame(session, { marks });
  return moveBy(() => 1)(marked, facts);
}

function shift(by: number): KeyBinding['press'] {
  return (session, { columns }) => {
    const wanted = topFrame(session).shift + by;
    return { session: withFrame(session, { shift: Math.max(0, Math.min(columns - 1, wanted)) }) };
  };
}

/**
 * Keys of every table, those of k9s. A view's own actions come before them; the help does not fit small terminals, so
 * the key that leads on comes first.
 */
export const TABLE_KEYS: readonly KeyBinding[] = [
  {
    keys: ['enter'],
    label: 'enter',
    about: 'what the row leads to',
    short: 'open',
    press: onSelected(enter),
  },
  { keys: ['k', 'up'], label: '↑ k', about: 'one row up', press: moveBy(() => -1) },
  { keys: ['j', 'down'], label: '↓ j', about: 'one row down', press: moveBy(() => 1) },
  { keys: ['pageup', 'ctrl-b'], label: 'PgUp ^b', about: 'a page up', press: moveBy(({ page }) => -page) },
  { keys: ['pagedown', 'ctrl-f'], label: 'PgDn ^f', about: 'a page down', press: moveBy(({ page }) => page) },
  { keys: ['home', 'g'], label: 'Home g', about: 'to the first row', press: (s, f) => moveTo(s, f, 0) },
  { keys: ['end', 'G'], label: 'End G', about: 'to the last row', press: (s, f) => moveTo(s, f, f.size - 1) },
  { keys: ['left'], label: '←', about: 'columns back', press: shift(-1) },
  { keys: ['right'], label: '→', about: 'columns aside, to see more at the right', press: shift(1) },
  { keys: ['escape'], label: 'esc', about: 'back: filter, marks, then the table before', press: back },
  {
    keys: [':'],
    label: ':',
    about: 'go to a view: ":pods", ":exports all", ":ns NAME", ":pulse", ":q"; Tab completes',
    short: 'view',
    press: (session) => ({ session: withAbove(session, 'prompt') }),
  },
  {
    keys: ['/'],
    label: '/',
    about: 'filter: text, key=value, !not; Enter keeps it, Esc drops it',
    short: 'filter',
    press: (session) => ({
      session: { ...session, overlay: { kind: 'filter' } },
    }),
  },
  {
    keys: ['d'],
    label: 'd',
    about: 'describe',
    short: 'describe',
    isOffered: isKube,
    press: opens('describe'),
  },
  { keys: ['y'], label: 'y', about: 'as YAML', short: 'yaml', isOffered: isKube, press: opens('yaml') },
  {
    keys: ['e'],
    label: 'e',
    about: 'edit in $EDITOR and apply',
    isOffered: isKube,
    press: onSelected((session, key) => ({ session, effect: { kind: 'edit', key } })),
  },
  { keys: ['l'], label: 'l', about: 'logs', short: 'logs', isOffered: hasText('logs'), press: opens('logs') },
  {
    keys: ['p'],
    label: 'p',
    about: 'logs before the last restart',
    isOffered: hasText('previous'),
    press: opens('previous'),
  },
  {
    keys: ['f'],
    label: 'f',
    about: 'files that it wrote',
    short: 'files',
    isOffered: hasText('files'),
    press: opens('files'),
  },
  {
    keys: ['i'],
    label: 'i',
    about: 'plan, limits and use of the workspace',
    short: 'use',
    isOffered: hasText('use'),
    press: opens('use'),
  },
  {
    keys: ['c'],
    label: 'c',
    about: 'chat with the agent; Ctrl-D comes back',
    short: 'chat',
    isOffered: isAgents,
    press: onSelected((session, key) => ({ session, effect: { kind: 'chat', key } })),
  },
  {
    keys: ['t'],
    label: 't',
    about: 'its traces',
    isOffered: (session) => isAgents(session) || topFrame(session).view === 'threads',
    press: onSelected((session, key) =>
      opensView(session, key, 'traces', isAgents(session) ? 'project' : 'thread'),
    ),
  },
  {
    keys: ['m'],
    label: 'm',
    about: 'its threads, and the messages in them',
    isOffered: isAgents,
    press: onSelected((session, key) => opensView(session, key, 'threads', 'project')),
  },
  {
    keys: ['Y'],
    label: 'Y',
    about: 'copy the URL, or the id where there is none (OSC 52)',
    press: onSelected((session, key, { addressOf }) => ({
      session,
      effect: { kind: 'copy', text: addressOf(key) },
    })),
  },
  {
    keys: ['c'],
    label: 'c',
    about: 'copy the name (OSC 52)',
    isOffered: (session) => !isAgents(session),
    press: onSelected((session, key) => ({
      session,
      effect: { kind: 'copy', text: key.split('/').at(-1) ?? key },
    })),
  },
  { keys: [' '], label: 'space', about: 'mark the row for actions', press: onSelected(mark) },
  {
    keys: ['ctrl-w'],
    label: '^w',
    about: 'more columns, or fewer',
    press: (session) => ({ session: { ...session, isWide: !session.isWide } }),
  },
  {
    keys: ['['],
    label: '[ ]',
    about: 'the view before this one, and forward again',
    press: (session) => ({ session: travel(session, -1) }),
  },
  { keys: [']'], label: '', about: 'forward', press: (session) => ({ session: travel(session, 1) }) },
  {
    keys: ['-'],
    label: '-',
    about: 'to the last view and back',
    press: (session) => ({ session: swap(session) }),
  },
  {
    keys: ['ctrl-z'],
    label: '^z',
    about: 'errors only, or everything',
    press: (session) => {
      const { isErrorsOnly = false } = topFrame(session);
      return { session: withFrame(session, { isErrorsOnly: !isErrorsOnly }) };
    },
  },
  {
    keys: ['ctrl-s'],
    label: '^s',
    about: 'save the table to a file of the current folder',
    press: save,
  },
  {
    keys: ['s'],
    label: '',
    about: 'save',
    isOffered: (session) => !getView(topFrame(session).view).actions.some(({ key }) => key === 's'),
    press: save,
  },
  ...[1, 2, 3, 4, 5, 6, 7, 8, 9].map((number): KeyBinding => ({
    keys: [String(number)],
    label: number === 1 ? '1 to 9' : '',
    about: 'one namespace, by its place among those of the workspaces',
    press: (session, { namespaces }) => {
      const namespace = namespaces[number - 1];
      return { session: namespace === undefined ? session : switchNamespace(session, namespace) };
    },
  })),
  {
    keys: ['0'],
    label: '0',
    about: 'all namespaces',
    press: (session) => ({ session: switchNamespace(session, undefined) }),
  },
  {
    keys: ['?', 'h'],
    label: '?',
    about: 'help',
    short: 'help',
    press: (session) => ({ session: withAbove(session, 'help') }),
  },
  {
    keys: [],
    label: 'mouse',
    about: 'with --mouse: a click selects, a double click opens, the wheel moves',
    press: (session) => ({ session }),
  },
  { keys: ['q'], label: 'q ^c', about: 'quit', short: 'quit', press: quit },
];

/** A letter for each heading, by which Shift and the letter sort; letters that mean something already are left out. */
export function sortKeysOf(
  headings: readonly string[],
  taken: readonly string[],
): ReadonlyMap<string, string> {
  const used = new Set([...taken, ...TABLE_KEYS.flatMap(({ keys }) => keys)]);
  const found = new Map<string, string>();
  for (const heading of headings) {
    const letter = [...heading].find((one) => /[A-Z]/.test(one) && !used.has(one));
    if (letter === undefined) continue;
    used.add(letter);
    found.set(letter, heading);
  }
  return found;
}

/** Sorts by a heading; a second time reverses the order. */
export function sortBy(session: Session, heading: string): Session {
  const { sort } = topFrame(session);
  const isDescending = sort?.heading === heading && !sort.isDescending;
  return withFrame(session, { sort: { heading, isDescending } });
}
