import { type Command, command, optional, parsed, toggle } from '#lib/command-line';
import { isUuid } from '#lib/resources';
import { TARGET_OPTIONS } from '../context/target.js';
import { timeoutOption } from '../waiting/timeout-option.js';
import { oneOf } from '../parse-count.js';
import { OUTPUT } from '../output/output-option.js';

const PLANS = ['developer', 'plus', 'enterprise'] as const;
const NAME = { name: 'name', about: 'name of the workspace' };
const KNOWN = { ...NAME, completes: 'workspace' } as const;
const SPEC_OPTIONS = {
  plan: parsed('--plan <plan>', `what it may use: ${PLANS.join(', ')}`, oneOf(PLANS), PLANS),
  displayName: optional('--display-name <text>', 'name for people'),
};

function parseTenant(text: string): string {
  if (isUuid(text)) return text;
  throw new Error('must be a uuid');
}

/** `agentplane workspace …`. */
export const WORKSPACE_COMMANDS: readonly Command[] = [
  command(
    {
      words: 'workspace list',
      about: 'list the workspaces with their tenants, plans and states',
      options: { ...TARGET_OPTIONS, output: OUTPUT },
      examples: ['workspace list', 'workspace list -o json'],
      exits: ['unreachable', 'refused'],
      needs: 'kubernetes',
    },
    async (_words, flags) => (await import('./workspace-command.js')).listWorkspaces(flags),
  ),
  command(
    {
      words: 'workspace show',
      about: 'show the workspace of the key: its plan, the limits that hold, and how much of them it uses',
      options: { ...TARGET_OPTIONS, output: OUTPUT },
      examples: ['workspace show', 'workspace show -o jsonpath={.usage.api_keys}'],
      exits: ['unreachable', 'refused'],
      needs: 'rest',
    },
    async (_words, flags) => (await import('./show-workspace.js')).showWorkspace(flags),
  ),
  command(
    {
      words: 'workspace create',
      about: 'make a workspace with a listener, and wait until it is ready',
      arguments: [NAME],
      options: {
        ...SPEC_OPTIONS,
        tenant: parsed('--tenant <id>', 'its tenant id, a uuid; by default a new one', parseTenant),
        listener: toggle('--no-listener', 'make no listener: agents of the workspace need one of their own'),
        timeout: timeoutOption('1m'),
        ...TARGET_OPTIONS,
      },
      examples: ['workspace create research', 'workspace create team-b --plan plus --display-name "Team B"'],
      exits: ['unreachable', 'timedOut', 'refused'],
      needs: 'kubernetes',
    },
    async ([name = ''], flags) => (await import('./workspace-command.js')).createWorkspace(name, flags),
  ),
  command(
    {
      words: 'workspace set',
      about: 'change the plan or the display name of a workspace',
      arguments: [KNOWN],
      options: { ...SPEC_OPTIONS, ...TARGET_OPTIONS },
      examples: ['workspace set team-b --plan enterprise'],
      exits: ['notFound', 'unreachable', 'refused'],
      needs: 'kubernetes',
    },
    async ([name = ''], flags) => (await import('./workspace-command.js')).setWorkspace(name, flags),
  ),
  command(
    {
      words: 'workspace delete',
      about: 'delete a workspace with all its deployments and exports, and wait until they have ended',
      arguments: [KNOWN],
      options: {
        yes: toggle('--yes', 'delete it; without this the command says what would be lost'),
        timeout: timeoutOption('5m'),
        ...TARGET_OPTIONS,
      },
      examples: ['workspace delete team-b', 'workspace delete team-b --yes'],
      exits: ['notFound', 'unreachable', 'timedOut', 'refused'],
      needs: 'kubernetes',
    },
    async ([name = ''], flags) => (await import('./workspace-command.js')).deleteWorkspace(name, flags),
  ),
];
