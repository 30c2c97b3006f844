import { useInput } from 'ink';
import { useRef, useState } from 'react';
import { keyNamesOf } from '../session/key-name.js';
import { press } from '../session/press.js';
import type { Effect, Facts, Session } from '../session/session.js';

export interface SessionState {
  readonly session: Session;
  readonly change: (next: (session: Session) => Session) => void;
}

/** The session, changed by every key. @param factsOf what the keys need to know, of the session as it is then */
export function useSession(
  first: () => Session,
  factsOf: (session: Session) => Facts,
  onEffect: (effect: Effect, session: Session) => void,
): SessionState {
  const [session, show] = useState(first);
  const current = useRef(session);
  const change = (next: (session: Session) => Session): void => {
    current.current = next(current.current);
    show(current.current);
  };
  useInput((input, key) => {
    for (const name of keyNamesOf(input, key)) {
      const pressed = press(current.current, name, factsOf(current.current));
      change(() => pressed.session);
      if (pressed.effect) onEffect(pressed.effect, pressed.session);
    }
  });
  return { session, change };
}
