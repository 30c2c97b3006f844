import type { Change } from '#lib/kube';
import type { Clock } from '#lib/time';
import { oneLine } from '../render/fit.js';
import type { View } from '../views/view.js';
import type { Item, World } from '../world/items.js';

/** Steps in which a percentage is worth a line. */
const STEP_PERCENT = 10;

/**
 * A line for each change of a state, its message or ten percent of progress, in plain text: for screen
 * readers, and for logs. Objects that exist at first are not reported. The result ends it.
 */
export function followLines(
  world: World,
  views: readonly View[],
  namespace: string | undefined,
  { clock, write }: { readonly clock: Clock; readonly write: (line: string) => void },
): () => void {
  let isFirst = true;
  const ends = views.map((view) =>
    world.itemsOf(view.source, namespace).on((change) => {
      const said = isFirst ? undefined : sayingOf(view, change);
      if (said === undefined) return;
      const time = clock.now().toISOString().slice(11, 19);
      write(`${time} ${view.name} ${change.object.metadata.name}: ${oneLine(said)}\n`);
    }),
  );
  isFirst = false;
  let trouble = world.trouble;
  ends.push(
    world.subscribe(() => {
      if (world.trouble === trouble) return;
      trouble = world.trouble;
      write(`${oneLine(trouble ?? 'connected again')}\n`);
    }),
  );
  return () => ends.forEach((end) => end());
}

/** Line about a change; undefined for a change that is not worth one. */
function sayingOf(view: View, change: Change<Item>): string | undefined {
  const { object } = change;
  if (view.isOf && !view.isOf(object)) return undefined;
  if (change.kind === 'deleted') return 'deleted';
  const said = textOf(view, object);
  return change.kind === 'changed' && textOf(view, change.before) === said ? undefined : said;
}

function textOf(view: View, item: Item): string {
  const { word, message } = view.state(item);
  const percent = percentOf(item);
  const progress = percent === undefined ? '' : `, ${Math.floor(percent / STEP_PERCENT) * STEP_PERCENT} %`;
  return `${word}${progress}${message === '' ? '' : `, ${message}`}`;
}

function percentOf(item: Item): number | undefined {
  const { status } = item as { readonly status?: { readonly percent?: number } };
  return status?.percent;
}
