import { errorText } from '#lib/errors';
import { copyCode } from '../render/fit.js';
import type { Effect, Pane, Session } from '../session/session.js';
import type { Right } from '../views/common-actions.js';
import type { View } from '../views/view.js';
import type { Item } from '../world/items.js';
import type { RowsCache } from './rows-cache.js';

/** Result of an action, or the reason why it was not done. */
export interface Outcome {
  readonly text: string;
  readonly isProblem: boolean;
}

/** Everything that the screen asks for beside rows: what changes something, and what is read once. */
export interface Deeds {
  /** True when the account is known not to be allowed something. */
  isDenied(right: Right, namespace: string | undefined): boolean;
  perform(view: View, action: string, items: readonly Item[], answer: string): Promise<Outcome>;
  /** @param suspend gives the terminal away while it runs */
  edit(
    view: View,
    items: readonly Item[],
    suspend: (run: () => Promise<void>) => Promise<unknown>,
  ): Promise<Outcome>;
  /** Talks with the agent of a row. @param suspend gives the terminal away while it runs */
  chat(items: readonly Item[], suspend: (run: () => Promise<void>) => Promise<unknown>): Promise<Outcome>;
  /** The lines of a text as they come. @param item subject of the text */
  read(view: View, item: Item | undefined, pane: Pane, signal: AbortSignal): AsyncIterable<readonly string[]>;
}

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
