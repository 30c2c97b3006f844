import { Box, Text } from 'ink';
import type { ReactNode } from 'react';
import { visibleText } from '#lib/command-line';
import type { OrderedRows } from '../rows/ordered-rows.js';
import { completions } from '../session/prompt.js';
import { type Session, topFrame } from '../session/session.js';
import { TABLE_KEYS } from '../session/table-keys.js';
import { getView } from '../views/all-views.js';
import type { Items } from '../world/items.js';

/** Current place: program, namespace, server, time; trouble in red. */
export function TopBar(props: {
  readonly place: string;
  readonly now: Date;
  readonly trouble: string | undefined;
}): ReactNode {
  const { place, now, trouble } = props;
  return (
    <>
      <Box justifyContent="space-between">
        <Box flexShrink={1} height={1}>
          <Text bold wrap="truncate">{` Agentplane  ${place}`}</Text>
        </Box>
        <Box flexShrink={0} height={1}>
          <Text dimColor wrap="truncate">{` ${now.toISOString().slice(11, 19)} UTC `}</Text>
        </Box>
      </Box>
      {trouble === undefined ? null : <Text color="red" wrap="truncate">{` ${visibleText(trouble)}`}</Text>}
    </>
  );
}

/** The tables that led here. */
export function wayOf({ stack }: Pick<Session, 'stack'>): string {
  return stack.map(({ view, scope }) => (scope ? `${view} of ${scope.title}` : view)).join(' › ');
}

/** The way here, how many rows, and what they are filtered and sorted by. */
export function Breadcrumbs(props: {
  readonly session: Session;
  readonly rows: Pick<OrderedRows, 'size'>;
  readonly items: Pick<Items, 'hasSynced'>;
}): ReactNode {
  const { session, rows, items } = props;
  const frame = topFrame(session);
  const count = items.hasSynced ? String(rows.size) : `${rows.size}…`;
  const filter = frame.filter === '' ? '' : `  /${frame.filter}`;
  return (
    <Text wrap="truncate">
      {' '}
      <Text bold color="cyan">
        {visibleText(wayOf(session))}
      </Text>
      {`  ${count}`}
      <Text color="yellow">{visibleText(filter)}</Text>
      {frame.isErrorsOnly ? <Text color="yellow">{'  errors only'}</Text> : null}
    </Text>
  );
}

/** The line that is typed in, or what was done, else the keys that are needed most. */
export function BottomBar({
  session,
  namespaces,
}: {
  session: Session;
  namespaces: readonly string[];
}): ReactNode {
  const { overlay, notice } = session;
  const view = getView(topFrame(session).view);
  switch (overlay?.kind) {
    case 'prompt': {
      const offered = completions(overlay.text, namespaces);
      const chosen = overlay.choice % Math.max(1, offered.length);
      return (
        <Text wrap="truncate">
          {` :${visibleText(overlay.text)}▏ `}
          {offered.map((one, at) => (
            <Text key={one} dimColor={at !== chosen} inverse={at === chosen}>{` ${visibleText(one)} `}</Text>
          ))}
        </Text>
      );
    }
    case 'filter':
      return (
        <Text wrap="truncate">
          {` /${visibleText(topFrame(session).filter)}▏ `}
          <Text dimColor>text · key=value · !not · enter keeps it</Text>
        </Text>
      );
    case 'confirm': {
      const action = view.actions.find(({ key }) => key === overlay.action);
      const what = overlay.keys.length === 1 ? overlay.keys[0] : `${overlay.keys.length} ${view.name}`;
      return (
        <Text wrap="truncate" color="yellow">
          {visibleText(
            ` ${action?.word ?? ''} ${what ?? ''}? ${action?.danger ?? ''}. y: yes, any other key: no`,
          )}
        </Text>
      );
    }
    case 'answer': {
      const action = view.actions.find(({ key }) => key === overlay.action);
      return (
        <Text wrap="truncate">{` ${action?.word ?? ''}, ${action?.asks?.what ?? ''}: ${overlay.text}▏`}</Text>
      );
    }
    case 'help':
    case 'pane':
    case undefined:
      break;
    default:
      overlay satisfies never;
  }
  if (notice)
    return (
      <Text wrap="truncate" color={notice.isProblem ? 'red' : 'green'}>{` ${visibleText(notice.text)}`}</Text>
    );
  const shown = TABLE_KEYS.filter(
    ({ short, isOffered }) => short !== undefined && (isOffered?.(session) ?? true),
  );
  return (
    <Text dimColor wrap="truncate">
      {` ${shown.map(({ label, short }) => `${label} ${short ?? ''}`).join('  ·  ')}`}
    </Text>
  );
}
