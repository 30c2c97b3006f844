import type { AgentRevision, Pod } from '#lib/resources';
import { keptNames } from './kept-output.js';

const revision = {
  metadata: { name: 'a-00001' },
  status: { build: { startedAt: '2026-11-23T10:00:00Z' } },
} as AgentRevision;
const pod = (component: string, of = 'a-00001'): Pod =>
  ({
    metadata: {
      name: component,
      labels: { 'agentplane.dev/revision': of, 'app.kubernetes.io/component': component },
    },
  }) as unknown as Pod;

describe('keptNames', () => {
  it.each<[string, Parameters<typeof keptNames>[0], readonly Pod[], readonly string[]]>([
    [
      'names the log of a build without its pod',
      { built: revision, failed: undefined },
      [],
      ['a-00001-build'],
    ],
    [
      'names it beside pods of the agent',
      { built: revision, failed: undefined },
      [pod('agent-api')],
      ['a-00001-build'],
    ],
    [
      'names nothing while the build has its pod',
      { built: revision, failed: undefined },
      [pod('builder')],
      [],
    ],
    [
      'names nothing of a revision that was not built',
      { built: { ...revision, status: {} }, failed: undefined },
      [],
      [],
    ],
    [
      'names the output of a revision that failed beside its build',
      { built: revision, failed: revision },
      [],
      ['a-00001-build', 'a-00001-output'],
    ],
    ['leaves the output to its pods', { built: undefined, failed: revision }, [pod('agent-api')], []],
    [
      'is not held up by pods of another revision',
      { built: undefined, failed: revision },
      [pod('agent-api', 'a-00002')],
      ['a-00001-output'],
    ],
  ])('%s', (_, revisions, pods, expected) => {
    expect(keptNames(revisions, pods)).toEqual(expected);
  });
});
