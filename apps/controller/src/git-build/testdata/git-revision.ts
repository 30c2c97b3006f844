import type { AgentRevision } from '#lib/resources';

interface Modifiers {
  readonly number?: number;
  readonly namespace?: string;
  /** Seconds by which it is younger than others. */
  readonly age?: number;
  readonly deleting?: boolean;
  readonly source?: AgentRevision['spec']['source'];
  /** Made while the branch was followed, which is `main`. */
  readonly followed?: boolean;
  readonly redeployOf?: string;
  readonly status?: { readonly [Key in keyof AgentRevision['status'] & string]?: unknown };
}

/** A revision from git whose commit is known. */
export function gitRevision(
  deploymentName: string,
  {
    number = 1,
    namespace = 'ws-a',
    age = 0,
    deleting = false,
    source = 'git_host',
    followed = false,
    redeployOf,
    status = {},
  }: Modifiers = {},
): AgentRevision {
  const name = `${deploymentName}-${String(number).padStart(5, '0')}`;
  return {
    apiVersion: 'agentplane.dev/v1alpha1',
    kind: 'AgentRevision',
    metadata: {
      name,
      namespace,
      uid: `${namespace}-${name}`,
      creationTimestamp: new Date(Date.UTC(2026, 4, 1, 11, 0, age)).toISOString(),
      ...(deleting ? { deletionTimestamp: '2026-05-01T11:00:00Z' } : {}),
    },
    spec: {
      source,
      deploymentName,
      number,
      ...(redeployOf === undefined ? {} : { redeployOf }),
      git: {
        repoUrl: 'https://git.example.org/a.git',
        graphConfigPath: 'langgraph.json',
        ...(followed ? { repoRef: 'main', buildOnPush: true } : {}),
      },
    },
    status: { repoCommitSha: 'c'.repeat(40), ...status },
  } as unknown as AgentRevision;
}
