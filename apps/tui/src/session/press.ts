import { getView } from '../views/all-views.js';
import { PANE_KEYS, pressSearch, typed } from './pane-keys.js';
import { completions, isCommand, obey } from './prompt.js';
import {
  type Facts,
  type Overlay,
  type Pressed,
  type Session,
  topFrame,
  withAbove,
  withFrame,
  withoutAbove,
  withoutOverlay,
} from './session.js';
import { type KeyBinding, selectedKey, sortBy, TABLE_KEYS } from './table-keys.js';

/** Rows or lines by one step of the wheel. */
const WHEEL_STEP = 3;
const MOUSE = /^(?:wheel(?<wheel>up|down)|(?<click>click|double)-(?<line>\d+))$/;

/** Effect of a key. */
type PressKey = (session: Session, name: string, facts: Facts) => Pressed;

/** Effect of the mouse; undefined for the name of a key. Questions and text input are left to the keys. */
function pressMouse(session: Session, name: string, facts: Facts, press: PressKey): Pressed | undefined {
  const { wheel, click, line } = MOUSE.exec(name)?.groups ?? {};
  if (wheel !== undefined) return scroll(session, wheel, facts, press);
  if (click === undefined) return undefined;
  const index = session.overlay === undefined ? facts.rowAtLine(Number(line)) : undefined;
  if (index === undefined) return { session };
  const selected = withFrame(session, { cursor: { key: facts.keyAt(index), index } });
  return click === 'double' ? press(selected, 'enter', facts) : { session: selected };
}

function scroll(session: Session, key: string, facts: Facts, press: PressKey): Pressed {
  const { overlay } = session;
  const isRead = overlay?.kind === 'help' || (overlay?.kind === 'pane' && !overlay.pane.isSearching);
  if (overlay !== undefined && !isRead) return { session };
  let pressed: Pressed = { session };
  for (let step = 0; step < WHEEL_STEP; step++) pressed = press(pressed.session, key, facts);
  return pressed;
}

/** The next session, and what the program must do, after one key. Pure. */
export function press(before: Session, name: string, facts: Facts): Pressed {
  const { notice: _read, ...session } = before;
  const { overlay } = session;
  if (name === 'ctrl-c') return { session, effect: { kind: 'quit' } };
  const moused = pressMouse(session, name, facts, press);
  if (moused) return moused;
  switch (overlay?.kind) {
    case undefined:
      return pressTable(session, name, facts);
    case 'prompt':
      return pressPrompt(session, overlay, name, facts);
    case 'filter':
      return pressFilter(session, name);
    case 'help':
      return pressHelp(session, overlay, name);
    case 'confirm':
      return pressConfirm(session, overlay, name);
    case 'answer':
      return pressAnswer(session, overlay, name);
    case 'pane':
      if (overlay.pane.isSearching) return pressSearch(session, name);
      return find(PANE_KEYS, session, name)?.press(session, facts) ?? { session };
    default:
      return overlay satisfies never;
  }
}

/** The next session after pasted text: a line that is typed takes it as text, everything else ignores it. Pure. */
export function paste(before: Session, text: string, facts: Facts): Pressed {
  const { overlay } = before;
  const isTyping =
    overlay?.kind === 'pane'
      ? overlay.pane.isSearching
      : overlay?.kind === 'prompt' || overlay?.kind === 'filter' || overlay?.kind === 'answer';
  if (!isTyping)
    return { session: { ...before, notice: { text: 'pasted text is ignored here', isProblem: false } } };
  const line = text.replace(/[\s\p{Cc}]+/gu, ' ').trim();
  return { session: [...line].reduce((session, one) => press(session, one, facts).session, before) };
}

function find(bindings: readonly KeyBinding[], session: Session, name: string): KeyBinding | undefined {
  return bindings.find(({ keys, isOffered }) => keys.includes(name) && (isOffered?.(session) ?? true));
}

function pressTable(session: Session, name: string, facts: Facts): Pressed {
  const action = getView(topFrame(session).view).actions.find(({ key }) => key === name);
  if (action) return ask(session, action.key, facts);
  const binding = find(TABLE_KEYS, session, name);
  if (binding) return binding.press(session, facts);
  const heading = facts.sortKeys.get(name);
  return { session: heading === undefined ? session : sortBy(session, heading) };
}

/** The marked rows, else the selected one; those that refuse are left out, and when all do, the first says why. */
function ask(session: Session, name: string, facts: Facts): Pressed {
  const frame = topFrame(session);
  const selected = selectedKey(session, facts);
  const marked = [...frame.marks].filter((key) => facts.indexOf(key) >= 0);
  const wanted = marked.length > 0 ? marked : selected === undefined ? [] : [selected];
  if (wanted.length === 0) return { session };
  const refusals = wanted.map((key) => facts.refusalOf(name, key));
  const keys = wanted.filter((_key, at) => refusals[at] === undefined);
  const action = getView(frame.view).actions.find(({ key }) => key === name);
  if (keys.length === 0) {
    const text = `cannot ${action?.word ?? name} ${wanted[0] ?? ''}: ${refusals[0] ?? ''}`;
    return { session: { ...session, notice: { text, isProblem: true } } };
  }
  if (action?.asks !== undefined)
    return { session: { ...session, overlay: { kind: 'answer', action: name, keys, text: '' } } };
  if (action?.danger !== undefined)
    return { session: { ...session, overlay: { kind: 'confirm', action: name, keys } } };
  return { session: unmarked(session), effect: { kind: 'perform', action: name, keys, answer: '' } };
}

function unmarked(session: Session): Session {
  return topFrame(session).marks.size === 0 ? session : withFrame(session, { marks: new Set() });
}

type Of<K extends Overlay['kind']> = Extract<Overlay, { kind: K }>;

function pressConfirm(session: Session, { action, keys }: Of<'confirm'>, name: string): Pressed {
  const closed = withoutOverlay(session);
  if (name === 'y' || name === 'Y')
    return { session: unmarked(closed), effect: { kind: 'perform', action, keys, answer: '' } };
  return { session: { ...closed, notice: { text: 'nothing was done', isProblem: false } } };
}

function pressAnswer(session: Session, overlay: Of<'answer'>, name: string): Pressed {
  const { action, keys, text } = overlay;
  if (name === 'escape') return { session: withoutOverlay(session) };
  if (name !== 'enter') {
    const next = typed(text, name);
    return {
      session: /^\d{0,5}$/.test(next) ? { ...session, overlay: { ...overlay, text: next } } : session,
    };
  }
  if (text === '') return { session: withoutOverlay(session) };
  return {
    session: unmarked(withoutOverlay(session)),
    effect: { kind: 'perform', action, keys, answer: text },
  };
}

function pressHelp(session: Session, overlay: Of<'help'>, name: string): Pressed {
  if (name === ':') return { session: withAbove(session, 'prompt') };
  const step = { j: 1, down: 1, k: -1, up: -1, pagedown: 10, pageup: -10, ' ': 10 }[name];
  if (step === undefined) return { session: withoutAbove(session) };
  return { session: { ...session, overlay: { ...overlay, top: Math.max(0, overlay.top + step) } } };
}

/** The rows follow while it is typed. */
function pressFilter(session: Session, name: string): Pressed {
  if (name === 'enter') return { session: withoutOverlay(session) };
  if (name === 'escape') return { session: withFrame(withoutOverlay(session), { filter: '' }) };
  return { session: withFrame(session, { filter: typed(topFrame(session).filter, name) }) };
}

function pressPrompt(session: Session, overlay: Of<'prompt'>, name: string, facts: Facts): Pressed {
  const { text, choice } = overlay;
  const offered = completions(text, facts.namespaces);
  const chosen = offered[choice % Math.max(1, offered.length)];
  const to = (change: Partial<Of<'prompt'>>): Pressed => ({
    session: { ...session, overlay: { ...overlay, ...change } },
  });
  switch (name) {
    case 'escape':
      return { session: withoutAbove(session) };
    case 'enter':
      return obey(session, isCommand(text) ? text : (chosen ?? text));
    case 'tab':
    case 'right':
      return chosen === undefined ? { session } : to({ text: chosen, choice: 0 });
    case 'down':
      return to({ choice: choice + 1 });
    case 'up':
    case 'shift-tab':
      return to({ choice: Math.max(0, choice - 1) });
    default:
      return to({ text: typed(text, name), choice: 0 });
  }
}
