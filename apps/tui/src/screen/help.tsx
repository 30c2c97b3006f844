import { Box, Text } from 'ink';
import type { ReactNode } from 'react';
import { PANE_KEYS } from '../session/pane-keys.js';
import { type KeyBinding, TABLE_KEYS } from '../session/table-keys.js';
import { VIEWS } from '../views/all-views.js';
import { type Session, topFrame } from '../session/session.js';
import type { View } from '../views/view.js';
import type { Deeds } from './deeds.js';
import { sortKeysOfTable } from './facts.js';

/** One line of the help. */
export interface HelpLine {
  readonly text: string;
  readonly isHeading: boolean;
  /** An action that the account may not do. */
  readonly isDimmed: boolean;
}

function heading(text: string): HelpLine {
  return { text: ` ${text}`, isHeading: true, isDimmed: false };
}

function line(label: string, about: string, isDimmed = false): HelpLine {
  return { text: `   ${label.padEnd(10)}${about}`, isHeading: false, isDimmed };
}

function keyLines(bindings: readonly KeyBinding[]): readonly HelpLine[] {
  return bindings.map(({ label, about }) => line(label, about));
}

/** Everything that keys do, from the tables of keys and views. */
export function helpLines(session: Session, view: View, deeds: Pick<Deeds, 'isDenied'>): readonly HelpLine[] {
  const namespace = topFrame(session).scope?.namespace ?? session.namespace;
  const sortKeys = sortKeysOfTable(session, view);
  const actions = view.actions.map(({ key, word, about, right }) => {
    const isDenied = right !== undefined && deeds.isDenied(right, namespace);
    return line(key.replace('ctrl-', '^'), `${word}: ${about}${isDenied ? ' (not allowed)' : ''}`, isDenied);
  });
  return [
    heading(`${view.name}: ${view.about}`),
    ...actions,
    ...[...sortKeys].map(([key, name]) => line(key, `sort by ${name}; again turns it around`)),
    heading('tables'),
    ...keyLines(TABLE_KEYS),
    heading('texts: logs, describe, YAML, traces'),
    ...keyLines(PANE_KEYS),
    heading('views, behind ":"'),
    ...VIEWS.map(({ name, aliases, about }) => line(name.padEnd(14), `${about} (${aliases.join(', ')})`)),
  ];
}

/** The lines of help that fit, from `top` on. */
export function Help({
  lines,
  top,
  height,
}: {
  lines: readonly HelpLine[];
  top: number;
  height: number;
}): ReactNode {
  const isWhole = lines.length <= height;
  const page = isWhole ? height : height - 1;
  const first = Math.max(0, Math.min(top, lines.length - page));
  const left = lines.length - first - page;
  return (
    <Box flexDirection="column" height={height}>
      {lines.slice(first, first + page).map(({ text, isHeading, isDimmed }, at) => (
        <Text key={first + at} wrap="truncate" bold={isHeading} dimColor={isDimmed}>
          {text}
        </Text>
      ))}
      {isWhole ? null : (
        <Text color="cyan">
          {left > 0 ? ` ↓ ${left} more lines: j, space` : ' end of the help: k goes up'}
        </Text>
      )}
    </Box>
  );
}
