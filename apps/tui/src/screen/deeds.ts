import type { Pane } from '../session/session.js';
import type { Right } from '../views/row-action.js';
import type { View } from '../views/view.js';
import type { Item } from '../world/items.js';

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
