import { DEPLOYMENTS } from './deployments.js';
import { DESTINATIONS } from './destinations.js';
import { EXPORT_RUNS } from './export-runs.js';
import { EXPORTS, SCHEDULES } from './exports.js';
import { EVENTS_VIEW, LISTENERS, WORKSPACES } from './platform-views.js';
import { PODS_VIEW } from './pods.js';
import { KEYS, TRACES } from './rest-views.js';
import { REVISIONS } from './revisions.js';
import type { View } from './view.js';

/** Views in the order in which the prompt offers them. */
export const VIEWS: readonly View[] = [
  DEPLOYMENTS,
  REVISIONS,
  PODS_VIEW,
  EXPORTS,
  EXPORT_RUNS,
  SCHEDULES,
  DESTINATIONS,
  TRACES,
  EVENTS_VIEW,
  LISTENERS,
  WORKSPACES,
  KEYS,
];

/** Finds a view by its name or an alias. */
export function findView(word: string): View | undefined {
  return VIEWS.find(({ name, aliases }) => name === word || aliases.includes(word));
}

/** @throws Error for a name that no view has: one that the program itself wrote */
export function getView(name: string): View {
  const view = findView(name);
  if (view === undefined) throw new Error(`no view is called ${name}`);
  return view;
}
