import { visibleText } from '#lib/command-line';
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

/** Gives the terminal away while something runs. */
export type Suspend = (run: () => Promise<void>) => Promise<unknown>;

/** Everything that the screen asks for beside rows: what changes something, and what is read once. */
export interface Deeds {
  /** True when the account is known not to be allowed something. */
  isDenied(right: Right, namespace: string | undefined): boolean;
  perform(
    view: View,
    action: string,
    items: readonly Item[],
    answer: string,
    suspend: Suspend,
  ): Promise<Outcome>;
  edit(view: View, items: readonly Item[], suspend: Suspend): Promise<Outcome>;
  /** Talks with the agent of a row. */
  chat(items: readonly Item[], suspend: Suspend): Promise<Outcome>;
  /** Namespaces of the first number keys. */
  favourites(): readonly string[];
  /** Keeps lines in a file. */
  save(title: string, lines: readonly string[]): Promise<Outcome>;
  /** The lines of a text as they come. @param item subject of the text */
  read(view: View, item: Item | undefined, pane: Pane, signal: AbortSignal): AsyncIterable<readonly string[]>;
}

/** Content of the screen as lines of text. */
export interface Shown {
  readonly title: string;
  readonly lines: readonly string[];
}

/** Bytes of a text that is copied: terminals drop longer sequences. */
const MOST_COPIED = 48 * 1_024;

export interface EffectParts {
  readonly deeds: Deeds;
  readonly cache: Pick<RowsCache, 'of'>;
  /** The text on top, else the table. */
  readonly shown: (session: Session) => Shown;
  readonly exit: () => void;
  readonly write: (text: string) => void;
  readonly suspend: Suspend;
  readonly note: (text: string, isProblem: boolean) => void;
}

/** Does what keys ask of the program, and notes how it ended. */
export function effectRunner(parts: EffectParts): (effect: Effect, session: Session) => void {
  const { deeds, cache, shown, exit, write, suspend, note } = parts;
  const report = (doing: Promise<Outcome>): void =>
    void doing.then(
      ({ text, isProblem }) => note(text, isProblem),
      (error: unknown) => note(errorText(error), true),
    );
  return (effect, session) => {
    if (effect.kind === 'quit') return exit();
    if (effect.kind === 'copy') {
      write(copyCode(effect.text));
      return note(`${effect.text} copied`, false);
    }
    if (effect.kind === 'copy-shown') {
      const { lines } = shown(session);
      const last = lastLines(lines, MOST_COPIED);
      write(copyCode(last.map((line) => `${visibleText(line)}\n`).join('')));
      const rest = last.length === lines.length ? '' : `, the last of ${lines.length}`;
      return note(`${last.length} lines copied${rest}`, false);
    }
    const { view, rows } = cache.of(session);
    if (effect.kind === 'save') {
      const { title, lines } = shown(session);
      return report(deeds.save(title, lines));
    }
    const keys = effect.kind === 'perform' ? effect.keys : [effect.key];
    const items = keys.flatMap((key) => rows.find(key) ?? []);
    const doing =
      effect.kind === 'perform'
        ? deeds.perform(view, effect.action, items, effect.answer, suspend)
        : effect.kind === 'edit'
          ? deeds.edit(view, items, suspend)
          : deeds.chat(items, suspend);
    report(doing);
  };
}

/** The last lines that take at most so many bytes. */
function lastLines(lines: readonly string[], most: number): readonly string[] {
  let bytes = 0;
  let from = lines.length;
  while (from > 0) {
    bytes += Buffer.byteLength(lines[from - 1] ?? '') + 1;
    if (bytes > most) break;
    from--;
  }
  return lines.slice(from);
}
