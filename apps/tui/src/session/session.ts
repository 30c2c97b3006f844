import type { Scope, Step, TextKind } from '../views/view.js';

/** The selected row: its key, and its place for the time when the row is no longer shown. */
export interface Cursor {
  readonly key: string | undefined;
  readonly index: number;
}

/** One table, and how it is looked at. */
export interface Frame {
  readonly view: string;
  readonly scope?: Scope;
  readonly filter: string;
  /** Sort order by heading; undefined: the order of the view. */
  readonly sort?: { readonly heading: string; readonly isDescending: boolean };
  readonly cursor: Cursor;
  /** Columns behind the name that are moved out at the left. */
  readonly shift: number;
  readonly marks: ReadonlySet<string>;
  /** True when only rows in a bad state are shown. */
  readonly isErrorsOnly?: boolean;
}

/** A text that is read: its first line on the screen, and what is searched in it. */
export interface Pane {
  readonly text: TextKind | 'pulse';
  /** Key of the row that it is about; empty for none. */
  readonly key: string;
  readonly title: string;
  /** `end` follows what comes. */
  readonly top: number | 'end';
  readonly left: number;
  readonly isWrapped: boolean;
  readonly search: string;
  readonly isSearching: boolean;
  /** True when a log shows errors alone. */
  readonly isErrorsOnly?: boolean;
  /** True when entries of a log, or values of a run, are shown as they were written. */
  readonly isRaw?: boolean;
  /** Age limit of logs in milliseconds; undefined: all that is kept. */
  readonly sinceMs?: number;
}

/** Overlay above the table that takes the keys. */
export type Overlay =
  | { readonly kind: 'prompt'; readonly text: string; readonly choice: number; readonly from?: Pane }
  | { readonly kind: 'filter' }
  | { readonly kind: 'help'; readonly top: number; readonly from?: Pane }
  | { readonly kind: 'confirm'; readonly action: string; readonly keys: readonly string[] }
  | {
      readonly kind: 'answer';
      readonly action: string;
      readonly keys: readonly string[];
      readonly text: string;
    }
  | { readonly kind: 'pane'; readonly pane: Pane };

/** Result of an action, or the reason why it was not done; removed by the next key. */
export interface Notice {
  readonly text: string;
  readonly isProblem: boolean;
}

/** Names of views with the namespace, in the order in which they were gone to, and the place in them. */
export interface History {
  readonly places: readonly { readonly view: string; readonly namespace: string | undefined }[];
  readonly at: number;
}

/** Everything that keys change. A value: a key makes the next one. */
export interface Session {
  /** Undefined: all namespaces. */
  readonly namespace: string | undefined;
  /** The first is never popped. */
  readonly stack: readonly [Frame, ...Frame[]];
  readonly overlay?: Overlay | undefined;
  readonly isWide: boolean;
  /** Tables that were gone to by name, for `[` and `]`. */
  readonly history?: History;
  readonly notice?: Notice | undefined;
}

/** Effect of a key on the program, beside another session. */
export type Effect =
  | { readonly kind: 'quit' }
  | {
      readonly kind: 'perform';
      readonly action: string;
      readonly keys: readonly string[];
      readonly answer: string;
    }
  | { readonly kind: 'edit' | 'chat'; readonly key: string }
  | { readonly kind: 'copy'; readonly text: string }
  /** The text on top as it is filtered, else the table. */
  | { readonly kind: 'save' }
  | { readonly kind: 'copy-shown' };

export interface Pressed {
  readonly session: Session;
  readonly effect?: Effect;
}

/** Facts about the rows and the screen that keys depend on. */
export interface Facts {
  readonly size: number;
  readonly keyAt: (index: number) => string | undefined;
  readonly indexOf: (key: string) => number;
  /** The row that a line of the terminal shows, counted from 1; undefined for none. */
  readonly rowAtLine: (line: number) => number | undefined;
  /** Lines that a page moves by. */
  readonly page: number;
  /** Columns behind the name that can be moved aside. */
  readonly columns: number;
  /** Sorting letters of the headings that are shown. */
  readonly sortKeys: ReadonlyMap<string, string>;
  /** Step that Enter takes from a row. */
  readonly stepOf: (key: string) => Step | undefined;
  /** The URL of a row, else its id, else its name. */
  readonly addressOf: (key: string) => string;
  /** Reason why an action of the view cannot be done to a row; undefined when it can. */
  readonly refusalOf: (action: string, key: string) => string | undefined;
  readonly namespaces: readonly string[];
  /** Lines of the pane, and those that its search finds. */
  readonly lines: number;
  readonly found: readonly number[];
}

/** A table as it is opened: first row selected, no filter, no marks. @param scope rows of one owner alone */
export function newFrame(view: string, scope?: Scope): Frame {
  return {
    view,
    ...(scope === undefined ? {} : { scope }),
    filter: '',
    cursor: { key: undefined, index: 0 },
    shift: 0,
    marks: new Set(),
  };
}

/** The session that the program begins with: one table. @param namespace undefined: all */
export function newSession(view: string, namespace: string | undefined): Session {
  return { namespace, stack: [newFrame(view)], isWide: false };
}

/** The table that is shown. */
export function topFrame({ stack }: Session): Frame {
  return stack.at(-1) ?? stack[0];
}

/** The session with a change of the table that is shown. */
export function withFrame(session: Session, change: Partial<Frame>): Session {
  const [first, ...rest] = session.stack;
  const last = rest.at(-1);
  if (last === undefined) return { ...session, stack: [{ ...first, ...change }] };
  return { ...session, stack: [first, ...rest.slice(0, -1), { ...last, ...change }] };
}

/** The session with a table on top, from which Escape leads back. */
export function pushFrame(session: Session, frame: Frame): Session {
  const [first, ...rest] = session.stack;
  return { ...session, stack: [first, ...rest, frame] };
}

/** The place of the selected row: where it is, or else what took its place. -1 when there are no rows. */
export function selectedIndex({ cursor }: Frame, { size, indexOf }: Pick<Facts, 'size' | 'indexOf'>): number {
  const at = cursor.key === undefined ? -1 : indexOf(cursor.key);
  return at >= 0 ? at : Math.min(cursor.index, size - 1);
}

/** The session with nothing above the table. */
export function withoutOverlay(session: Session): Session {
  const { overlay: _closed, ...rest } = session;
  return rest;
}

/** The text that is read: on top, or below the prompt or the help that were opened over it. */
export function paneOf({ overlay }: Session): Pane | undefined {
  if (overlay?.kind === 'pane') return overlay.pane;
  return overlay?.kind === 'prompt' || overlay?.kind === 'help' ? overlay.from : undefined;
}

/** The session with the prompt or the help above what is shown. */
export function withAbove(session: Session, above: 'prompt' | 'help'): Session {
  const pane = paneOf(session);
  const from = pane === undefined ? {} : { from: pane };
  const overlay: Overlay =
    above === 'prompt' ? { kind: 'prompt', text: '', choice: 0, ...from } : { kind: 'help', top: 0, ...from };
  return { ...session, overlay };
}

/** The session without the prompt or the help: what was shown before is there again. */
export function withoutAbove(session: Session): Session {
  const pane = paneOf(session);
  return pane === undefined ? withoutOverlay(session) : { ...session, overlay: { kind: 'pane', pane } };
}

/** A text as it is opened: logs at their end, others at their beginning. @param key of the row it is about */
export function newPane(text: Pane['text'], key: string, title: string): Overlay {
  const isLog = text === 'logs';
  return {
    kind: 'pane',
    pane: {
      text,
      key,
      title,
      top: isLog ? 'end' : 0,
      left: 0,
      isWrapped: false,
      search: '',
      isSearching: false,
    },
  };
}
