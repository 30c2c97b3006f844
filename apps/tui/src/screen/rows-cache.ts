import { findFilterProblem } from '#lib/filter-language';
import { OrderedRows } from '../rows/ordered-rows.js';
import { ProgressMemory } from '../rows/progress-memory.js';
import { isCondition, parseFilter, type SearchTexts } from '../rows/row-filter.js';
import { type Frame, type Session, topFrame } from '../session/session.js';
import { getView } from '../views/all-views.js';
import type { Look, View } from '../views/view.js';
import type { Items, RestQuery, Source, World } from '../world/items.js';
import { columnsOf, searchOf, searchTexts } from './row-texts.js';

/** The rows of the table on top. */
export interface ShownRows {
  readonly view: View;
  readonly items: Items;
  readonly rows: OrderedRows;
}

/** State before the first frame. */
const NOTHING: Look = { now: new Date(0), nowMs: 0, progress: new ProgressMemory(), barWidth: 0 };

type Wanted = Pick<Frame, 'view' | 'scope' | 'filter' | 'sort' | 'isErrorsOnly'> & { readonly items: Items };

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
    const { view: name, scope, filter, sort, isErrorsOnly } = topFrame(session);
    const view = getView(name);
    const items = this.#world.itemsOf(
      sourceOf(view, topFrame(session)),
      scope?.namespace ?? session.namespace,
    );
    const wanted = { view: name, scope, filter, sort, isErrorsOnly, items } as Wanted;
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

  #rowsOf(view: View, { scope, filter, sort, isErrorsOnly, items }: Wanted): OrderedRows {
    const look = this.#look();
    const search = searchOf(view, look, this.#textsOf(view));
    // REST has applied a condition; one that cannot be read lets nothing through
    const isOfRest = view.takesConditions === true && isCondition(filter);
    const passes = isOfRest ? () => findFilterProblem(filter) === undefined : parseFilter(filter);
    const columns = columnsOf(view, { isWide: true, isQualified: true });
    const column = columns.find(({ heading }) => heading === sort?.heading);
    const rankOf = column ? (column.rank ?? ((item) => column.cell(item, look))) : view.order;
    return new OrderedRows(items, {
      isShown: (item) =>
        (view.isOf?.(item) ?? true) &&
        (isErrorsOnly !== true || view.state(item).tone === 'bad') &&
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

/** Fields by which lists of REST are limited. */
const QUERIED: ReadonlySet<string> = new Set(['project', 'thread', 'trace']);

/** Source of the rows of a table; of REST only those that it is about. */
function sourceOf(view: View, { scope, filter }: Frame): Source {
  const { source } = view;
  if (source.kind === 'kube') return source;
  const isConditional =
    view.takesConditions === true && isCondition(filter) && findFilterProblem(filter) === undefined;
  const query: RestQuery = {
    ...(scope && QUERIED.has(scope.field) ? { [scope.field]: scope.value } : {}),
    ...(isConditional ? { filter } : {}),
  };
  return Object.keys(query).length === 0 ? source : { ...source, query };
}

function isSame(a: Wanted | undefined, b: Wanted): boolean {
  return (
    a !== undefined &&
    a.view === b.view &&
    a.items === b.items &&
    a.scope === b.scope &&
    a.filter === b.filter &&
    a.sort === b.sort &&
    a.isErrorsOnly === b.isErrorsOnly
  );
}
