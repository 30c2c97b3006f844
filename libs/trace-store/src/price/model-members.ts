import { DEFAULT_MEMBERS } from './model-price.js';

/**
 * Members that may name a model beside `ls_model_name`, each with its rank, the least wins. A map: the prices of a workspace
 * may name ten thousand, and every member of a run's metadata is looked for.
 */
export type ModelMembers = ReadonlyMap<string, number>;

/** Members of these names, in this order, after those that name a model unless a price says otherwise. */
export function modelMembers(names: Iterable<string> = []): ModelMembers {
  const members = new Set([...DEFAULT_MEMBERS, ...names]);
  return new Map([...members].map((name, rank) => [name, rank]));
}
