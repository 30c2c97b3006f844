import { Box, Text } from 'ink';
import type { ReactNode } from 'react';
import { visibleText } from '#lib/command-line';
import { cutToWidth, displayWidth } from '../render/fit.js';
import { firstLine, PANE_KEYS } from '../session/pane-keys.js';
import type { Pane as PaneState, Session } from '../session/session.js';
import { wayOf } from './frame-bars.js';

/** Lines in their layout on the screen: cut at the left, or wrapped. Tabs become spaces. */
export function layLines(
  lines: readonly string[],
  { isWrapped, left }: Pick<PaneState, 'isWrapped' | 'left'>,
  width: number,
): readonly string[] {
  const visible = lines.map((line) => visibleText(line.replaceAll('\t', '    ')).replaceAll('\n', ' '));
  if (!isWrapped) return left === 0 ? visible : visible.map((line) => [...line].slice(left).join(''));
  return visible.flatMap((line) => wrapped(line, Math.max(1, width)));
}

function wrapped(line: string, width: number): string[] {
  const pieces: string[] = [];
  let rest = line;
  while (displayWidth(rest) > width) {
    const piece = cutToWidth(rest, width) || rest.slice(0, 1);
    pieces.push(piece);
    rest = rest.slice(piece.length);
  }
  return [...pieces, rest];
}

/** Numbers of the lines that hold a text; case does not matter. */
export function findLines(lines: readonly string[], search: string): readonly number[] {
  if (search === '') return [];
  const wanted = search.toLowerCase();
  return lines.flatMap((line, at) => (line.toLowerCase().includes(wanted) ? [at] : []));
}

/** Levels and first words of what programs print about failures. */
const ERROR = /\b(error|fatal|critical|traceback|panic)\b|\b\w*(Error|Exception):/i;

/** Lines of a log with a text, or about failures; remarks of the dashboard stay. */
export function filterLines(
  lines: readonly string[],
  search: string,
  isErrorsOnly: boolean,
): readonly string[] {
  const wanted = search.toLowerCase();
  return lines.filter(
    (line) =>
      line.startsWith('—') || (line.toLowerCase().includes(wanted) && (!isErrorsOnly || ERROR.test(line))),
  );
}

/** A text over the whole screen: title with place and search, its lines, its keys. */
export function Pane(props: {
  readonly pane: PaneState;
  readonly lines: readonly string[];
  readonly found: readonly number[];
  readonly height: number;
  readonly session: Session;
  /** Input line that replaces the line of its keys. */
  readonly children?: ReactNode;
}): ReactNode {
  const { pane, lines, found, height, session, children } = props;
  const { notice } = session;
  const page = height - 2;
  const first = firstLine(pane, lines.length, page);
  const hits = new Set(found);
  const shown = PANE_KEYS.filter(
    ({ short, isOffered }) => short !== undefined && (isOffered?.(session) ?? true),
  );
  const place = `${Math.min(lines.length, first + page)} of ${lines.length}`;
  const search = pane.search === '' ? '' : `  /${pane.search} ${found.length}`;
  return (
    <Box flexDirection="column" height={height}>
      <Text wrap="truncate-start">
        {' '}
        <Text bold color="cyan">
          {visibleText(`${wayOf(session)} › ${pane.title}`)}
        </Text>
        {`  ${place}${pane.top === 'end' ? ' · following' : ''}${pane.isErrorsOnly ? ' · errors only' : ''}${visibleText(search)}`}
      </Text>
      <Box flexDirection="column" height={page}>
        {lines.slice(first, first + page).map((line, at) => (
          <Text key={first + at} wrap="truncate" {...(hits.has(first + at) ? { color: 'yellow' } : {})}>
            {line === '' ? ' ' : line}
          </Text>
        ))}
      </Box>
      {children ??
        (notice ? (
          <Text
            wrap="truncate"
            color={notice.isProblem ? 'red' : 'green'}
          >{` ${visibleText(notice.text)}`}</Text>
        ) : pane.isSearching ? (
          <Text wrap="truncate">{` /${visibleText(pane.search)}▏`}</Text>
        ) : (
          <Text
            wrap="truncate"
            dimColor
          >{` ${shown.map(({ label, short }) => `${label} ${short ?? ''}`).join('  ·  ')}`}</Text>
        ))}
    </Box>
  );
}
