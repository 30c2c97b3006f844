import { useInput, usePaste } from 'ink';
import { useRef, useState } from 'react';
import type { Clock } from '#lib/time';
import { keyNamesOf } from '../session/key-name.js';
import { paste, press } from '../session/press.js';
import type { Effect, Facts, Session } from '../session/session.js';

export interface SessionState {
  readonly session: Session;
  readonly change: (next: (session: Session) => Session) => void;
  /** Takes names of what the mouse did. */
  readonly onMouse: (names: readonly string[]) => void;
}

/** Maximum time between the clicks of a double click. */
const DOUBLE_CLICK_MS = 400;

/** Makes `double-LINE` of the second click on a line. */
function useClicks(clock: Clock): (name: string) => string {
  const former = useRef({ name: '', atMs: 0 });
  return (name) => {
    const atMs = clock.monotonicMs();
    const isSecond = former.current.name === name && atMs - former.current.atMs <= DOUBLE_CLICK_MS;
    // a third click is a first one again
    former.current = { name: isSecond ? '' : name, atMs };
    return isSecond ? name.replace('click-', 'double-') : name;
  };
}

/**
 * The session, changed by every key. @param factsOf facts that the keys need, for the session at that moment
 */
export function useSession(
  first: () => Session,
  factsOf: (session: Session) => Facts,
  onEffect: (effect: Effect, session: Session) => void,
  clock: Clock,
): SessionState {
  const [session, show] = useState(first);
  const current = useRef(session);
  const change = (next: (session: Session) => Session): void => {
    current.current = next(current.current);
    show(current.current);
  };
  const clicked = useClicks(clock);
  const pressAll = (names: readonly string[]): void => {
    for (const name of names) {
      const pressed = press(current.current, name, factsOf(current.current));
      change(() => pressed.session);
      if (pressed.effect) onEffect(pressed.effect, pressed.session);
    }
  };
  useInput((input, key) => pressAll(keyNamesOf(input, key)));
  // without it the terminal sends pasted text as keys, which act
  usePaste((text) => change((was) => paste(was, text, factsOf(was)).session));
  return { session, change, onMouse: (names) => pressAll(names.map(clicked)) };
}
