import { nodeWarnings, SHARED_USER_MESSAGE } from '#lib/resources';
import { nodeConditions, type NodeTroubles } from './registration.js';

const NOW = '2026-11-20T10:00:00Z';
const NONE: NodeTroubles = { rootProblem: undefined, isUserShared: false, cpuProblem: undefined };

const warningsOf = (troubles: Partial<NodeTroubles>): readonly string[] =>
  nodeWarnings({
    status: { conditions: nodeConditions(NOW, true, { ...NONE, ...troubles }) },
  });

describe('nodeConditions', () => {
  it.each<[string, Partial<NodeTroubles>, readonly string[]]>([
    ['nothing of a machine that lacks nothing', {}, []],
    ['pods that run as root', { rootProblem: 'why' }, ['pods run as root and can read everything here: why']],
    ['pods that share the user of the platform', { isUserShared: true }, [SHARED_USER_MESSAGE]],
    [
      'limits of CPU beside it',
      { isUserShared: true, cpuProblem: 'why' },
      ['CPU limits are not enforced on this machine: why', SHARED_USER_MESSAGE],
    ],
  ])('warns of %s', (_what, troubles, warnings) => {
    expect(warningsOf(troubles)).toEqual(warnings);
  });

  it('has a Ready that is False with what to do while the node is stopped', () => {
    expect(nodeConditions(NOW, false, NONE).find(({ type }) => type === 'Ready')).toMatchObject({
      status: 'False',
      reason: 'ProcessRuntimeStopped',
      message: 'agentplane was stopped on this machine; start it again',
    });
  });
});
