import type { KubeObject } from '../object/kube-object.js';

/** The fields of events.k8s.io/v1 that have other names in v1, in which events are stored. */
const EVENT_FIELDS: readonly (readonly [name: string, stored: string])[] = [
  ['regarding', 'involvedObject'],
  ['note', 'message'],
  ['reportingController', 'reportingComponent'],
  ['deprecatedSource', 'source'],
  ['deprecatedFirstTimestamp', 'firstTimestamp'],
  ['deprecatedLastTimestamp', 'lastTimestamp'],
  ['deprecatedCount', 'count'],
];
const NEW_EVENT = 'events.k8s.io/v1';

/** The object as the given version shows it. Versions differ in name only (conversion strategy None), but for events. */
export function inVersion(object: KubeObject, apiVersion: string): KubeObject {
  if (object.apiVersion === apiVersion) return object;
  if (object.kind !== 'Event') return { ...object, apiVersion };
  const pairs = EVENT_FIELDS.map(([name, stored]) =>
    apiVersion === NEW_EVENT ? [stored, name] : [name, stored],
  );
  const names = new Map(pairs as [string, string][]);
  const renamed = Object.entries(object).map(([name, value]) => [names.get(name) ?? name, value]);
  return { ...(Object.fromEntries(renamed) as KubeObject), apiVersion };
}
