import { describe, expect, it } from '@jest/globals';
import { decideCollection, type ItemView, type OwnerState } from './owner-lookup.js';

function view(states: OwnerState[], more: Partial<ItemView> = {}): ItemView {
  return {
    finalizers: [],
    hasDependents: false,
    owners: states.map((state, at) => ({ uid: `${state}${at}`, state })),
    ...more,
  };
}

describe('decideCollection', () => {
  it.each<[string, ItemView, string]>([
    ['keeps what has no owner', view([]), 'keep'],
    ['keeps what has an owner', view(['solid']), 'keep'],
    ['deletes what lost its only owner', view(['absent']), 'delete Background'],
    [
      'drops references to lost owners beside living ones',
      view(['absent', 'solid', 'waiting']),
      'drop-references absent0,waiting2',
    ],
    ['deletes for an owner that waits', view(['waiting']), 'delete Background'],
    ['passes waiting on to dependents', view(['waiting'], { hasDependents: true }), 'delete Foreground'],
    ['does not judge while an owner’s kind is not served', view(['absent', 'unknown']), 'ask-later'],
    ['keeps for a living owner though another is unknown', view(['solid', 'unknown']), 'keep'],
    ['orphans what asked for it', view(['absent'], { finalizers: ['orphan'] }), 'delete Orphan'],
    [
      'deletes in the foreground what asked for it',
      view(['absent'], { finalizers: ['foregroundDeletion'] }),
      'delete Foreground',
    ],
  ])('%s', (_name, given, expected) => {
    const decision = decideCollection(given);
    const detail =
      decision.kind === 'delete'
        ? ` ${decision.propagation}`
        : decision.kind === 'drop-references'
          ? ` ${decision.uids.join()}`
          : '';
    expect(`${decision.kind}${detail}`).toBe(expected);
  });
});
