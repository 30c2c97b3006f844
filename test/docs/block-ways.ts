/** Pages whose blocks a spec runs; the spec reads them out of the page. */
export const BLOCKS_BY_SPEC: Readonly<Record<string, string>> = {
  'README.md': 'test/docs/readme.spec.ts',
  'docs/tutorial.md': 'test/docs/tutorial.long.ts',
  'docs/a2a.md': 'test/docs/pages.long.ts',
  'docs/agents.md': 'test/docs/pages.long.ts',
  'docs/evaluation.md': 'test/docs/pages.long.ts',
  'docs/exporting.md': 'test/docs/pages.long.ts',
  'docs/otlp.md': 'test/docs/pages.long.ts',
  'docs/reading-exports.md': 'test/readers/page-lines.ts',
  'docs/cluster.md': 'test/long/cluster-install.long.ts',
};

/** Languages that nothing tries, with the reason. */
export const LEFT_OUT: Readonly<Record<string, string>> = {
  text: 'a picture, or a list of requests that is read alone',
  sql: 'for psql, before there is a platform; the long test of the installation has its databases from such roles',
  dockerfile:
    'needs images of a registry; the long test of the installation builds its images from the same stages',
};

/** Variables that a reader brings along: names of secrets that no command can find. */
export const GIVEN_VARIABLES = ['GIT_TOKEN', 'OPENAI_API_KEY'];

/** Words of manifests that a reader replaces, and what stands for them here. */
export const PLACEHOLDERS: Readonly<Record<string, string>> = {
  TENANT: '00000000-0000-4000-8000-000000000001',
};

/** Words behind `agentplane` in the text of a page that are no command, with what they are. */
export const NO_COMMANDS: Readonly<Record<string, string>> = {
  guard: 'the name of a session of Postgres',
};

/** JSON that is the body of a request; all other is `langgraph.json`. */
export const JSON_BODIES: Readonly<Record<string, string>> = { 'docs/costs.md': 'PUT /model-price-map' };

/** JSON that has a type of ours, `lib` being the module that it is from. */
export const JSON_TYPES: Readonly<Record<string, { readonly type: string; readonly from: string }>> = {
  // settings of an editor
  'docs/a2a.md': {
    type: '{ readonly agent_servers: Readonly<Record<string, { readonly command: string; readonly args: readonly string[] }>> }',
    from: '#lib/json',
  },
  'docs/reference/audit-log.md': {
    type: 'lib.AuditRecord & { readonly time: string }',
    from: '#lib/audit-log',
  },
};

const RUNS_CLIENT = "import { Client } from 'langsmith';\ndeclare const client: Client;\n";

/** What a page takes for granted around a block of TypeScript, by the block's number among those of its page. */
export const GIVEN_TO_TYPES: Readonly<Record<string, string>> = {
  'docs/agent-auth.md 1':
    'declare function verify(text: string | null): Promise<{ id: string; permissions: string[] } | undefined>;\n',
  'docs/feedback.md 1': `${RUNS_CLIENT}declare const runId: string;\ndeclare const sessionId: string;\n`,
  'docs/runs.md 2': 'declare const key: string;\n',
  'docs/runs.md 3': 'declare const key: string;\n',
  'docs/store.md 1':
    "import { Client } from '@langchain/langgraph-sdk';\nimport { BaseStore } from '@langchain/langgraph-checkpoint';\ndeclare const client: Client;\ndeclare const config: { store: BaseStore };\ndeclare const userId: string;\n",
};
