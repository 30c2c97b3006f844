import { Box, Text } from 'ink';
import type { ReactNode } from 'react';
import { displayWidth } from '../render/fit.js';
import { PANE_KEYS } from '../session/pane-keys.js';
import { paneOf, type Session, topFrame } from '../session/session.js';
import { type KeyBinding, TABLE_KEYS } from '../session/table-keys.js';
import { VIEWS } from '../views/all-views.js';
import type { View } from '../views/view.js';
import type { Deeds } from './effect-runner.js';
import { sortKeysOfTable } from './facts.js';

/** One key of the help, or a heading, which has no label. */
export interface HelpEntry {
  readonly label: string;
  readonly about: string;
  /** An action that the account may not do. */
  readonly isDimmed?: boolean;
}

interface HelpLine {
  readonly text: string;
  readonly isHeading: boolean;
  readonly isDimmed: boolean;
}

function keyEntries(bindings: readonly KeyBinding[], session: Session): readonly HelpEntry[] {
  return bindings.filter(({ label, isOffered }) => label !== '' && (isOffered?.(session) ?? true));
}

/** Everything that keys do in the text or the table on top, from the tables of keys and views. */
export function helpEntries(
  session: Session,
  view: View,
  deeds: Pick<Deeds, 'isDenied'>,
): readonly HelpEntry[] {
  const pane = paneOf(session);
  if (pane) return [{ label: '', about: pane.title }, ...keyEntries(PANE_KEYS, session)];
  const namespace = topFrame(session).scope?.namespace ?? session.namespace;
  const actions = view.actions.map(({ key, word, about, right }) => {
    const isDimmed = right !== undefined && deeds.isDenied(right, namespace);
    const refused = isDimmed ? ' (not allowed)' : '';
    return { label: key.replace('ctrl-', '^'), about: `${word}${refused}: ${about}`, isDimmed };
  });
  const sorts = [...sortKeysOfTable(session, view)].map(([key, name]) => `${key} ${name}`);
  return [
    { label: '', about: `${view.name}: ${view.about}` },
    ...actions,
    { label: 'Shift', about: `sort by ${sorts.join(', ')}; again turns it around` },
    { label: '', about: 'tables' },
    ...keyEntries(TABLE_KEYS, session),
    { label: '', about: 'views, behind ":"' },
    ...VIEWS.map(({ name, aliases, about }) => ({ label: name, about: `${about} (${shortest(aliases)})` })),
    { label: 'pulse', about: 'load of the programs of this machine' },
  ];
}

function shortest(words: readonly string[]): string {
  return words.toSorted((a, b) => a.length - b.length)[0] ?? '';
}

const LEAST_COLUMN = 38;
const LABEL = 10;

/** The help in as many columns as fit beside one another; long words about a key take several lines. */
export function layHelp(entries: readonly HelpEntry[], width: number): readonly (readonly HelpLine[])[] {
  const count = Math.max(1, Math.floor(width / LEAST_COLUMN));
  const room = Math.floor(width / count) - 2;
  const lines = entries.flatMap((entry) => linesOf(entry, room));
  const height = Math.ceil(lines.length / count);
  return Array.from({ length: count }, (_, at) => lines.slice(at * height, (at + 1) * height));
}

function linesOf({ label, about, isDimmed = false }: HelpEntry, room: number): readonly HelpLine[] {
  const isHeading = label === '';
  const indent = isHeading ? 1 : LABEL + 2;
  const wrapped = wrapWords(about, Math.max(10, room - indent));
  // a long label has a line of its own
  const isLong = displayWidth(label) >= LABEL;
  const texts = isLong && !isHeading ? ['', ...wrapped] : wrapped;
  return texts.map((text, at) => {
    const before = isHeading ? ' ' : at === 0 ? `  ${label.padEnd(LABEL)}` : ' '.repeat(indent);
    return { text: `${before}${text}`.trimEnd(), isHeading, isDimmed };
  });
}

function wrapWords(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (line !== '' && displayWidth(longer) > width) {
      lines.push(line);
      line = word;
    } else line = longer;
  }
  return [...lines, line];
}

/** The help from line `top` on; a mark says that it goes on. */
export function Help({
  entries,
  top,
  width,
  height,
}: {
  readonly entries: readonly HelpEntry[];
  readonly top: number;
  readonly width: number;
  readonly height: number;
}): ReactNode {
  const columns = layHelp(entries, width);
  const longest = Math.max(...columns.map(({ length }) => length));
  const page = longest <= height ? height : height - 1;
  const first = Math.max(0, Math.min(top, longest - page));
  const left = longest - first - page;
  return (
    <Box flexDirection="column" height={height}>
      <Box height={page}>
        {columns.map((lines, at) => (
          <Box key={at} flexDirection="column" width={Math.floor(width / columns.length)}>
            {lines.slice(first, first + page).map(({ text, isHeading, isDimmed }, line) => (
              <Text key={first + line} wrap="truncate" bold={isHeading} dimColor={isDimmed}>
                {text === '' ? ' ' : text}
              </Text>
            ))}
          </Box>
        ))}
      </Box>
      {page === height ? null : (
        <Text color="cyan">
          {left > 0 ? ` ↓ ${left} more lines: j, space` : ' end of the help: k goes up'}
        </Text>
      )}
    </Box>
  );
}
