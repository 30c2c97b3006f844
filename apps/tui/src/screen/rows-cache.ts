import { OrderedRows } from '../rows/ordered-rows.js';
import { ProgressMemory } from '../rows/progress-memory.js';
import { parseFilter, type SearchTexts } from '../rows/row-filter.js';
import { type Frame, type Session, topFrame } from '../session/session.js';
import { getView } from '../views/all-views.js';
import type { Look, View } from '../views/view.js';
import type { Items, World } from '../world/items.js';
import { columnsOf, searchOf, searchTexts } from './row-texts.js';

/** The rows of the table on top. */
export interface ShownRows {
  readonly view: View;
  readonly items: Items;
  readonly rows: OrderedRows;
}

/** State before the first frame. */
const NOTHING: Look = { now: new Date(0), nowMs: 0, progress: new ProgressMemory(), barWidth: 0 };

type Wanted = Pick<Frame, 'view' | 'scope' | 'filter' | 'sort'> & { readonly items: Items };

/** Keeps the rows of the table on top: made anew when something else is looked at, else kept up by changes alone. */
export class RowsCache {
  readonly #world: World;
  readonly #look: () => Look;
  readonly #texts = new Map<View, SearchTexts>();
  #wanted: Wanted | undefined;
  #shown: ShownRows | undefined;

  constructor(world: World, look: () => Look | undefined) {
    this.#world = world;
    this.#look = () => look() ?? NOTHING;
  }

  of(session: Session): ShownRows {
    const { view: name, scope, filter, sort } = topFrame(session);
    const view = getView(name);
    const items = this.#world.itemsOf(view.source, scope?.namespace ?? session.namespace);
    const wanted = { view: name, scope, filter, sort, items } as Wanted;
    if (this.#shown && isSame(this.#wanted, wanted)) return this.#shown;
    this.#shown?.rows.close();
    this.#wanted = wanted;
    this.#shown = { view, items, rows: this.#rowsOf(view, wanted) };
    return this.#shown;
  }

  close(): void {
    this.#shown?.rows.close();
    this.#shown = undefined;
  }

  #rowsOf(view: View, { scope, filter, sort, items }: Wanted): OrderedRows {
    const look = this.#look();
    const search = searchOf(view, look, this.#textsOf(view));
    const passes = parseFilter(filter);
    const columns = columnsOf(view, { isWide: true, isQualified: true });
    const column = columns.find(({ heading }) => heading === sort?.heading);
    const rankOf = column ? (column.rank ?? ((item) => column.cell(item, look))) : view.order;
    return new OrderedRows(items, {
      isShown: (item) =>
        (view.isOf?.(item) ?? true) &&
        (scope === undefined || search(item).valueOf(scope.field) === scope.value) &&
        (passes === undefined || passes(search(item))),
      rankOf: rankOf ?? (({ metadata }) => metadata.name),
      isDescending: sort?.isDescending ?? false,
    });
  }

  #textsOf(view: View): SearchTexts {
    const known = this.#texts.get(view) ?? searchTexts(view, this.#look());
    this.#texts.set(view, known);
    return known;
  }
}

function isSame(a: Wanted | undefined, b: Wanted): boolean {
  return (
    a !== undefined &&
    a.view === b.view &&
    a.items === b.items &&
    a.scope === b.scope &&
    a.filter === b.filter &&
    a.sort === b.sort
  );
}
