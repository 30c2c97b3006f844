import { age } from '../render/quantity.js';
import type { Item } from '../world/items.js';
import type { Column } from './view.js';

export const NAME: Column = {
  heading: 'NAME',
  cell: ({ metadata }) => metadata.name,
  rank: ({ metadata }) => metadata.name,
};

/** Shown when rows of several namespaces are. */
export const NAMESPACE: Column = {
  heading: 'NAMESPACE',
  cell: ({ metadata }) => metadata.namespace ?? '',
  rank: ({ metadata }) => metadata.namespace ?? '',
};

export const AGE: Column = {
  heading: 'AGE',
  cell: ({ metadata }, { now }) => age(metadata.creationTimestamp, now),
  rank: (item) => -createdMs(item),
  align: 'right',
  isLive: true,
};

export function createdMs({ metadata }: Item): number {
  return Date.parse(metadata.creationTimestamp ?? '') || 0;
}
