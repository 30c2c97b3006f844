import { type Key, useApp, useInput } from 'ink';
import { useState } from 'react';
import type { Row } from '../rows/row.js';
import { type Action, KEY_BINDINGS } from './keys.js';

const PAGE_ROWS = 10;

export interface Navigation {
  readonly rows: readonly Row[];
  readonly selectedKey: string | undefined;
  /** Whether the rows below a resource are shown. */
  readonly isOpen: (key: string, byDefault: boolean) => boolean;
  readonly isHelping: boolean;
}

/** What the keys do. A key that is held, or a slow terminal, makes several of one input. */
function actionsOf(input: string, key: Key): Action[] {
  const special = Object.entries(key).find(
    ([name, isPressed]) => isPressed === true && name !== 'shift',
  )?.[0];
  const names = special === undefined ? [...input] : [special];
  return names.flatMap((name) => KEY_BINDINGS.find(({ keys }) => keys.includes(name))?.action ?? []);
}

/** By how many rows an action moves. */
const STEPS: Readonly<Partial<Record<Action, number>>> = {
  up: -1,
  down: 1,
  pageUp: -PAGE_ROWS,
  pageDown: PAGE_ROWS,
  first: -Infinity,
  last: Infinity,
};

/** The keys of the dashboard: which row is selected, which resources are open, whether help is shown. */
export function useNavigation(rowsOf: (isOpen: Navigation['isOpen']) => readonly Row[]): Navigation {
  const { exit } = useApp();
  const [selected, setSelected] = useState<string>();
  const [opened, setOpened] = useState<Readonly<Record<string, boolean>>>({});
  const [isHelping, setHelping] = useState(false);
  const isOpen = (key: string, byDefault: boolean): boolean => opened[key] ?? byDefault;
  const rows = rowsOf(isOpen);
  const placeOf = (key: string | undefined): number =>
    Math.max(
      0,
      rows.findIndex((row) => row.key === key),
    );
  const at = placeOf(selected);

  /** A row opens what it belongs to, and that is then selected, since the row may be gone. */
  function toggle(): void {
    const root = rows[at]?.root;
    if (root === undefined) return;
    const isNowOpen = rows.some((row) => row.root === root && row.depth > 0);
    setOpened((was) => ({ ...was, [root]: !isNowOpen }));
    setSelected(root);
  }

  useInput((input, key) => {
    for (const action of actionsOf(input, key)) {
      if (action === 'quit') return exit();
      else if (action === 'help') setHelping((was) => !was && !key.escape);
      else if (action === 'open') toggle();
      else
        setSelected((was) => {
          const to = placeOf(was) + (STEPS[action] ?? 0);
          return rows[Math.min(rows.length - 1, Math.max(0, to))]?.key;
        });
    }
  });
  return { rows, selectedKey: rows[at]?.key, isOpen, isHelping };
}
