import type { Instant } from '#lib/time';
import type { ParentRow } from '../run/run-table.js';
import { runKey } from '../run/run-keys.js';
import { buildDottedOrder, MAX_KNOWN_ANCESTORS } from '../wire/dotted-order.js';
import { firstOf, startOf, type RunGroup } from './run-group.js';

/** Place of a run in its trace. */
export interface Standing {
  readonly traceId: string;
  /** Dotted order of the parent; undefined for roots, and for a parent that is not known. */
  readonly parentOrder: string | undefined;
  /** Its own, as it is stored. */
  readonly order: string;
  readonly ancestors: number;
  /** True when its way to the root is known. */
  readonly isPlaced: boolean;
}

/** Result for a parent with too many ancestors to put a run below it by the parent's id alone. */
export type TooDeep = 'too deep';

/**
 * Places runs in their traces that came without a dotted order: below their parents, which are in the same batch, in any
 * order, or stored.
 */
export class Family {
  /** The first group of each id. If the traces of a batch differ, each of its groups names one. */
  readonly #byId = new Map<string, RunGroup>();
  readonly #byTrace = new Map<string, RunGroup>();
  readonly #standings = new Map<RunGroup, Standing | TooDeep>();

  /** @param stored parents by the ids of the runs that name them, as `parentKey` spells them */
  constructor(
    groups: readonly RunGroup[],
    private readonly stored: ReadonlyMap<string, ParentRow>,
    private readonly now: Instant,
  ) {
    for (const group of groups) {
      const { id, traceId } = group;
      if (!this.#byId.has(id)) this.#byId.set(id, group);
      if (traceId !== undefined) this.#byTrace.set(runKey({ id, traceId }), group);
    }
  }

  standingOf(group: RunGroup): Standing | TooDeep {
    // upwards to a run that is placed, then down again: families may be long, so this is no recursion
    const line: RunGroup[] = [];
    const inLine = new Set<RunGroup>();
    let next: RunGroup | undefined = group;
    while (next && !this.#standings.has(next) && !inLine.has(next)) {
      line.push(next);
      inLine.add(next);
      next = this.#parentOf(next);
    }
    for (const one of line.reverse()) this.#standings.set(one, this.#place(one));
    return this.#standings.get(group) ?? 'too deep';
  }

  /** The parent in the batch of a run that needs one to be placed. */
  #parentOf(group: RunGroup): RunGroup | undefined {
    if (firstOf(group, 'dottedOrder') !== undefined) return undefined;
    const parentId = firstOf(group, 'parentRunId');
    const first = parentId === undefined ? undefined : this.#byId.get(parentId);
    const { traceId } = group;
    if (!first || traceId === undefined || first.traceId === undefined) return first;
    return this.#byTrace.get(runKey({ id: first.id, traceId }));
  }

  #place(group: RunGroup): Standing | TooDeep {
    const given = firstOf(group, 'dottedOrder');
    const parentId = firstOf(group, 'parentRunId');
    const stored = parentId === undefined ? undefined : this.stored.get(parentKey(parentId, group.traceId));
    if (given)
      return {
        traceId: group.traceId ?? given.traceId,
        parentOrder: undefined,
        order: given.text,
        ancestors: given.ancestors,
        isPlaced: true,
      };
    const parent = this.#parentOf(group);
    const above = parent ? this.#standings.get(parent) : undefined;
    if (above === 'too deep') return above;
    if (above) return this.#below(group, above, above.order, above.ancestors + 1);
    if (!stored) {
      const top = { traceId: parentId ?? group.id, isPlaced: parentId === undefined };
      return this.#below(group, top, undefined, 0);
    }
    if (stored.dottedOrder === undefined) return 'too deep';
    return this.#below(group, stored, stored.dottedOrder, stored.dottedOrder.split('.').length);
  }

  #below(
    group: RunGroup,
    { traceId, isPlaced }: Pick<Standing, 'traceId' | 'isPlaced'>,
    parentOrder: string | undefined,
    ancestors: number,
  ): Standing | TooDeep {
    if (ancestors > MAX_KNOWN_ANCESTORS + 1) return 'too deep';
    const order = buildDottedOrder(startOf(group, this.now), group.id, parentOrder);
    return { traceId: group.traceId ?? traceId, parentOrder, order, ancestors, isPlaced };
  }
}

/** One text for a parent as its child names it: by its id, and by its trace where the child names one. */
export function parentKey(id: string, traceId: string | undefined): string {
  return traceId === undefined ? id : runKey({ id, traceId });
}
