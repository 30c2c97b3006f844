import { type Facts, type Pressed, type Session, withFrame } from './session.js';

/** Rows or lines by one step of the wheel. */
const WHEEL_STEP = 3;
const MOUSE = /^(?:wheel(?<wheel>up|down)|(?<click>click|double)-(?<line>\d+))$/;

/** Effect of a key. */
type PressKey = (session: Session, name: string, facts: Facts) => Pressed;

/** Effect of the mouse; undefined for the name of a key. Questions and text input are left to the keys. */
export function pressMouse(
  session: Session,
  name: string,
  facts: Facts,
  press: PressKey,
): Pressed | undefined {
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
