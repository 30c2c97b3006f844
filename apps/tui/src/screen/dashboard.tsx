import { Box, Text, useWindowSize } from 'ink';
import { type ReactNode, useEffect, useState } from 'react';
import { visibleText } from '#lib/command-line';
import type { Clock } from '#lib/time';
import type { Snapshot, SnapshotFeed } from '../feed/snapshot.js';
import { useSnapshot } from '../feed/use-snapshot.js';
import { shareLines } from '../render/window.js';
import { DEPLOYMENT_COLUMNS, deploymentRows } from '../rows/deployment-rows.js';
import { EXPORT_COLUMNS, exportRows } from '../rows/export-rows.js';
import { headingsOf } from '../rows/tree-column.js';
import type { RateRecorder } from '../rows/rate-recorder.js';
import type { Row } from '../rows/row.js';
import { KEY_BINDINGS } from './keys.js';
import { Table } from './table.js';
import { useNavigation } from './use-navigation.js';

export interface DashboardProps {
  readonly feed: SnapshotFeed;
  readonly clock: Clock;
  readonly rates: RateRecorder;
  /** Shown in the heading: namespace and server. */
  readonly place: string;
  /** Whether rows of several namespaces are shown. */
  readonly qualified: boolean;
}

const TICK_MS = 1000;
const WIDE = 100;
/** Heading, two tables with a blank line and a heading each, footer, and one that stays free. */
const FRAME_LINES = 1 + 4 + 2 + 1;
const TROUBLE_LINES = 1;
/** A blank line and the message of the selected row. */
const MESSAGE_LINES = 1 + 3;

/** The time, moving once a second so that ages do. */
function useNow(clock: Clock): Date {
  const [now, setNow] = useState(() => clock.now());
  useEffect(() => clock.after(TICK_MS, () => setNow(clock.now())), [clock, now]);
  return now;
}

function Help(): ReactNode {
  return (
    <Box flexDirection="column" marginTop={1}>
      {KEY_BINDINGS.map(({ label, about }) => (
        <Text key={label} wrap="truncate">{`  ${label.padEnd(8)}${about}`}</Text>
      ))}
    </Box>
  );
}

function Footer(): ReactNode {
  const shown = KEY_BINDINGS.filter(({ short }) => short !== undefined);
  return (
    <Box marginTop={1}>
      <Text dimColor wrap="truncate">
        {` ${shown.map(({ label, short }) => `${label} ${short}`).join('  ·  ')}`}
      </Text>
    </Box>
  );
}

/** The message of the selected row, when it has something to say; at most three lines. */
function Detail({ rows, selectedKey }: { rows: readonly Row[]; selectedKey: string | undefined }): ReactNode {
  const row = rows.find(({ key }) => key === selectedKey);
  if (!row || row.state.message === '') return null;
  return (
    <Box marginTop={1} marginLeft={2} height={3} overflow="hidden">
      <Text>{visibleText(`${row.name}: ${row.state.message}`)}</Text>
    </Box>
  );
}

/** Lines that are not for rows. Those of a message are kept free as soon as any row has one, so that moving moves nothing else. */
function frameLines({ trouble }: Snapshot, rows: readonly Row[]): number {
  const forTrouble = trouble === undefined ? 0 : TROUBLE_LINES;
  const forMessage = rows.some(({ state }) => state.message !== '') ? MESSAGE_LINES : 0;
  return FRAME_LINES + forTrouble + forMessage;
}

/** The one screen: deployments with their revisions, exports with their days, live. */
export function Dashboard({ feed, clock, rates, place, qualified }: DashboardProps): ReactNode {
  const snapshot = useSnapshot(feed);
  const now = useNow(clock);
  const { columns, rows: lines } = useWindowSize();
  const width = columns || WIDE;
  const barWidth = width >= WIDE ? 16 : 8;
  const { rows, selectedKey, isOpen, isHelping } = useNavigation((open) => {
    const options = { isOpen: open, qualified, barWidth };
    return [...deploymentRows(snapshot, now, options), ...exportRows(snapshot, rates, options)];
  });
  const options = { isOpen, qualified, barWidth };
  const deployments = deploymentRows(snapshot, now, options);
  const exports = exportRows(snapshot, rates, options);
  const space = Math.max(2, (lines || 40) - frameLines(snapshot, rows));
  const [top, bottom] = shareLines(space, Math.max(1, deployments.length), Math.max(1, exports.length));
  const common = { allRows: rows, selectedKey, width };
  return (
    <Box flexDirection="column" width={width}>
      <Box justifyContent="space-between">
        <Box flexShrink={1}>
          <Text bold wrap="truncate">{` Agentplane  ${place}`}</Text>
        </Box>
        <Box flexShrink={0}>
          <Text dimColor>{` ${now.toISOString().slice(11, 19)} UTC `}</Text>
        </Box>
      </Box>
      {snapshot.trouble === undefined ? null : (
        <Text color="red" wrap="truncate">{` ${visibleText(snapshot.trouble)}`}</Text>
      )}
      {isHelping ? (
        <Help />
      ) : (
        <>
          <Table
            {...common}
            title={`DEPLOYMENTS ${snapshot.deployments.length}`}
            columns={headingsOf(DEPLOYMENT_COLUMNS)}
            rows={deployments}
            height={top}
            hint="none yet: kubectl apply -f examples/deployment.yaml"
          />
          <Table
            {...common}
            title={`EXPORTS ${snapshot.exports.length}`}
            columns={headingsOf(EXPORT_COLUMNS)}
            rows={exports}
            height={bottom}
            hint="none yet: kubectl apply -f examples/export.yaml"
          />
          <Detail rows={rows} selectedKey={selectedKey} />
        </>
      )}
      <Footer />
    </Box>
  );
}
