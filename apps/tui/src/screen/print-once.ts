import type { Clock } from '#lib/time';
import { displayWidth, oneLine } from '../render/fit.js';
import { ProgressMemory } from '../rows/progress-memory.js';
import { newFrame } from '../session/session.js';
import { getView } from '../views/all-views.js';
import type { Look, View } from '../views/view.js';
import type { World } from '../world/items.js';
import { columnsOf } from './row-texts.js';
import { RowsCache } from './rows-cache.js';

/** Views printed without a terminal, each under its own heading. */
export const PRINTED = ['deployments', 'revisions', 'exports', 'days'];
const GAP = '  ';
const LIST_MS = 10_000;

/** Everything as plain lines, for output that no terminal shows: no colours, bars or trees. */
export async function printOnce(
  world: World,
  namespace: string | undefined,
  clock: Clock,
  names: readonly string[] = PRINTED,
): Promise<string> {
  const look: Look = {
    now: clock.now(),
    nowMs: clock.monotonicMs(),
    progress: new ProgressMemory(),
    barWidth: 0,
  };
  const cache = new RowsCache(world, () => look);
  const parts: string[] = [];
  const views = names.map(getView);
  for (const view of views) world.itemsOf(view.source, namespace);
  for (const view of views) {
    // lists of REST are read once something asks for their rows
    const { rows } = cache.of({ namespace, stack: [newFrame(view.name)], isWide: false });
    await synced(world, view, namespace, clock);
    const looked = { isWide: false, isQualified: namespace === undefined };
    parts.push(tableText(view, rows.slice(0, rows.size), look, looked));
  }
  cache.close();
  const troubles = [world.trouble, ...views.map(({ source }) => world.itemsOf(source, namespace).problem)];
  const trouble = troubles.flatMap((one) => (one === undefined ? [] : [oneLine(one)]));
  return `${[...trouble, ...parts].join('\n\n')}\n`;
}

/** Waits for the first list of a view, at most ten seconds. */
async function synced(world: World, view: View, namespace: string | undefined, clock: Clock): Promise<void> {
  const items = world.itemsOf(view.source, namespace);
  if (items.hasSynced) return;
  await new Promise<void>((resolve) => {
    const cancel = clock.after(LIST_MS, resolve);
    const end = world.subscribe(() => {
      if (!items.hasSynced) return;
      cancel();
      end();
      resolve();
    });
  });
}

/** Rows with their headings and messages, in plain aligned lines. */
export function tableText(
  view: View,
  items: ReturnType<ReturnType<RowsCache['of']>['rows']['slice']>,
  look: Look,
  looked: { readonly isWide: boolean; readonly isQualified: boolean },
): string {
  const title = view.name.toUpperCase();
  if (items.length === 0) return `${title}: none`;
  const columns = columnsOf(view, looked);
  const lines = [
    [...columns.map(({ heading }) => heading), 'MESSAGE'],
    ...items.map((item) => [
      ...columns.map((column) => oneLine(column.cell(item, look)).trim()),
      oneLine(view.state(item).message),
    ]),
  ];
  const widths = columns.map((_, at) => Math.max(...lines.map((line) => displayWidth(line[at] ?? ''))));
  return [
    `${title} ${items.length}`,
    ...lines.map((line) =>
      line
        .map((cell, at) => cell + ' '.repeat(Math.max(0, (widths[at] ?? 0) - displayWidth(cell))))
        .join(GAP)
        .trimEnd(),
    ),
  ].join('\n');
}
