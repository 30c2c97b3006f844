import { type AgentDeployment, idOf, keyOf, keyText, RESOURCES, type Workspace } from '#lib/resources';
import { type Facts, type Session, topFrame } from '../session/session.js';
import { sortKeysOf } from '../session/table-keys.js';
import type { View } from '../views/view.js';
import type { World } from '../world/items.js';
import type { Deeds } from './effect-runner.js';
import { columnsOf } from './row-texts.js';
import type { ShownRows } from './rows-cache.js';

/** True when rows of several namespaces are shown. */
export function isQualified(session: Session): boolean {
  return (topFrame(session).scope?.namespace ?? session.namespace) === undefined;
}

/** Name, namespace and state stay where they are when the others are moved aside. */
export function fixedColumns(session: Session): number {
  return isQualified(session) ? 3 : 2;
}

/** The letters that sort the table on top. */
export function sortKeysOfTable(session: Session, view: View): ReadonlyMap<string, string> {
  // wide terminals show columns that narrow ones leave out
  const columns = columnsOf(view, { isWide: true, isQualified: isQualified(session) });
  return sortKeysOf(
    columns.map(({ heading }) => heading),
    view.actions.map(({ key }) => key),
  );
}

/** Facts about the table on top that keys depend on. */
export function factsOf(
  session: Session,
  { view, rows, items }: ShownRows,
  world: World,
  deeds: Pick<Deeds, 'isDenied' | 'favourites'>,
): Omit<Facts, 'page' | 'rowAtLine' | 'lines' | 'found'> {
  const columns = columnsOf(view, { isWide: session.isWide, isQualified: isQualified(session) });
  return {
    get size() {
      return rows.size;
    },
    keyAt: (index) => {
      const item = rows.at(index);
      return item && keyText(keyOf(item));
    },
    indexOf: (key) => rows.indexOf(key),
    columns: columns.length - fixedColumns(session),
    get sortKeys() {
      return sortKeysOfTable(session, view);
    },
    stepOf: (key) => {
      const item = rows.find(key);
      return item && view.enter?.(item);
    },
    addressOf: (key) => {
      const item = rows.find(key);
      const { url } = (item as Partial<AgentDeployment> | undefined)?.status ?? {};
      return url ?? (item && idOf(item)) ?? key.split('/').at(-1) ?? key;
    },
    refusalOf: (name, key) => {
      const action = view.actions.find((one) => one.key === name);
      const item = rows.find(key) ?? items.find(key);
      if (!action || !item) return 'it no longer exists';
      const { namespace } = item.metadata;
      if (action.right && deeds.isDenied(action.right, namespace))
        return `this account may not ${action.right.verb} ${action.right.ref.plural} in ${namespace ?? 'the cluster'}`;
      return action.refusal?.(item);
    },
    get namespaces() {
      const workspaces = world.itemsOf({ kind: 'kube', ref: RESOURCES.Workspace }, undefined).list();
      const names = workspaces.flatMap((item) => (item as Workspace).status?.namespace ?? []).sort();
      const favourites = deeds.favourites().filter((name) => names.includes(name));
      return [...new Set([...favourites, ...names])];
    },
  };
}
