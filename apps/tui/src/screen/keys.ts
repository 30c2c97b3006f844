export type Action = 'up' | 'down' | 'pageUp' | 'pageDown' | 'first' | 'last' | 'open' | 'help' | 'quit';

/** What a key does; the footer and the help are made from this table. */
export interface KeyBinding {
  readonly keys: readonly string[];
  readonly label: string;
  /** In the help. */
  readonly about: string;
  /** In the footer, which has room for the most needed alone. */
  readonly short?: string;
  readonly action: Action;
}

export const KEY_BINDINGS: readonly KeyBinding[] = [
  { keys: ['k', 'upArrow'], label: '↑ k', about: 'one row up', action: 'up' },
  { keys: ['j', 'downArrow'], label: '↓ j', about: 'one row down', short: 'move', action: 'down' },
  { keys: ['pageUp', 'b'], label: 'PgUp b', about: 'ten rows up', action: 'pageUp' },
  { keys: ['pageDown', 'f'], label: 'PgDn f', about: 'ten rows down', action: 'pageDown' },
  { keys: ['home', 'g'], label: 'Home g', about: 'to the first row', action: 'first' },
  { keys: ['end', 'G'], label: 'End G', about: 'to the last row', action: 'last' },
  {
    keys: ['return', '\r', ' '],
    label: 'enter',
    about: 'open or close: revisions of a deployment, days of an export',
    short: 'open/close',
    action: 'open',
  },
  { keys: ['?', 'h', 'escape'], label: '?', about: 'help', short: 'help', action: 'help' },
  { keys: ['q'], label: 'q', about: 'quit', short: 'quit', action: 'quit' },
];
