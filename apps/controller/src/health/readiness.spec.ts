import { describe, expect, it } from '@jest/globals';
import { Readiness, type Stage } from './readiness.js';

describe('Readiness', () => {
  const informers = { unsynced: ['agentplane.dev/workspaces', 'services'] };

  it.each<[Stage, boolean, string | null]>([
    ['schema', false, 'the schema of the database'],
    ['caches', false, 'the first lists of agentplane.dev/workspaces, services'],
    ['leadership', true, 'leadership, which pod-b holds'],
    ['working', true, null],
    ['stopping', false, 'the passes under way, since the program is stopping'],
  ])('reports in the stage %s whether it is ready and what it waits for', (stage, ready, waitsFor) => {
    const readiness = new Readiness(informers, { isLeader: false, holder: 'pod-b' });
    readiness.enter(stage);
    expect(readiness.report()).toEqual({ ready, leading: false, waits_for: waitsFor });
  });

  it('names no holder of a lease that is free', () => {
    const readiness = new Readiness(informers, { isLeader: false, holder: undefined });
    readiness.enter('leadership');
    expect(readiness.report().waits_for).toBe('leadership');
  });

  it('stays in the stage stopping when the start still goes on', () => {
    const readiness = new Readiness(informers, { isLeader: false, holder: undefined });
    readiness.enter('stopping');
    readiness.enter('leadership');
    expect(readiness.report().ready).toBe(false);
  });
});
