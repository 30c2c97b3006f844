import { errorText } from '#lib/errors';
import type { Outcome } from '../screen/deeds.js';
import type { Hands, RowAction } from '../views/row-action.js';
import type { Item } from '../world/items.js';
import type { Rights } from './rights.js';

/** Does something to rows, one after the other; the first that fails is reported with how many were done. */
export async function perform(
  action: RowAction,
  items: readonly Item[],
  answer: string,
  { hands, rights }: { readonly hands: Hands; readonly rights: Rights },
): Promise<Outcome> {
  const done: string[] = [];
  for (const item of items) {
    const { namespace, name } = item.metadata;
    if (action.right && !(await rights.isAllowed(action.right, namespace))) {
      const { verb, ref } = action.right;
      return {
        text: `cannot ${action.word} ${name}: this account may not ${verb} ${ref.plural} in ${namespace ?? 'the cluster'}`,
        isProblem: true,
      };
    }
    try {
      done.push(await action.perform(item, hands, answer));
    } catch (error) {
      const before = done.length === 0 ? '' : ` (${done.length} of ${items.length} were done)`;
      return { text: `cannot ${action.word} ${name}: ${errorText(error)}${before}`, isProblem: true };
    }
  }
  const [only = ''] = done;
  return { text: done.length === 1 ? only : `${done.length} done: ${only} …`, isProblem: false };
}
