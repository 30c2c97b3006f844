import { errorText } from '#lib/errors';
import { copyCode } from '../render/copy-code.js';
import type { Effect, Session } from '../session/session.js';
import type { Deeds } from './deeds.js';
import type { RowsCache } from './rows-cache.js';

export interface EffectParts {
  readonly deeds: Deeds;
  readonly cache: Pick<RowsCache, 'of'>;
  readonly exit: () => void;
  readonly write: (text: string) => void;
  /** Gives the terminal away while it runs. */
  readonly suspend: (run: () => Promise<void>) => Promise<unknown>;
  readonly note: (text: string, isProblem: boolean) => void;
}

/** Does what keys ask of the program, and notes how it ended. */
export function effectRunner(parts: EffectParts): (effect: Effect, session: Session) => void {
  const { deeds, cache, exit, write, suspend, note } = parts;
  return (effect, session) => {
    if (effect.kind === 'quit') return exit();
    if (effect.kind === 'copy') {
      write(copyCode(effect.text));
      return note(`${effect.text} copied`, false);
    }
    const { view, rows } = cache.of(session);
    const keys = effect.kind === 'perform' ? effect.keys : [effect.key];
    const items = keys.flatMap((key) => rows.find(key) ?? []);
    const doing =
      effect.kind === 'perform'
        ? deeds.perform(view, effect.action, items, effect.answer)
        : effect.kind === 'edit'
          ? deeds.edit(view, items, suspend)
          : deeds.chat(items, suspend);
    doing.then(
      ({ text, isProblem }) => note(text, isProblem),
      (error: unknown) => note(errorText(error), true),
    );
  };
}
