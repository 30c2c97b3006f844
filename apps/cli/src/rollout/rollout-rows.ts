import { type Command, command, optional, parsed, toggle } from '#lib/command-line';
import { TARGET_OPTIONS } from '../context/target.js';
import { timeoutOption } from '../waiting/timeout-option.js';
import { OUTPUT } from '../output/output-option.js';
import { parseCount } from '../parse-count.js';

export const DEPLOYMENT_NAME = {
  name: 'name',
  about: 'name of the deployment, or its id',
  completes: 'deployment',
} as const;
export const WAIT_OPTIONS = {
  wait: toggle('--no-wait', 'do not wait until it serves'),
  timeout: timeoutOption('5m'),
  ...TARGET_OPTIONS,
};
const revisionOption = (about: string) => ({
  revision: optional('--revision <id>', `${about}; the beginning of an id will do`),
  ...WAIT_OPTIONS,
});

/** Commands for an existing deployment. */
export const ROLLOUT_COMMANDS: readonly Command[] = [
  command(
    {
      words: 'revisions',
      about: 'list the revisions of a deployment, newest first; * marks the one that serves',
      arguments: [DEPLOYMENT_NAME],
      options: {
        limit: parsed('--limit <count>', 'so many of the newest; all by default', parseCount),
        ...TARGET_OPTIONS,
        output: OUTPUT,
      },
      examples: ['revisions sample-agent', 'revisions sample-agent --limit 5 -o wide'],
      exits: ['notFound', 'unreachable', 'refused'],
      needs: 'rest',
    },
    async ([name = ''], flags) => (await import('./rollout-command.js')).listRevisions(name, flags),
  ),
  command(
    {
      words: 'rollback',
      about:
        'go back to the revision that served before: its image, resources and secrets (an archived one: those of now)',
      arguments: [DEPLOYMENT_NAME],
      options: revisionOption(
        'the revision to go back to; by default the last that served before this one and is not archived',
      ),
      examples: ['rollback sample-agent', 'rollback sample-agent --revision 2f0d4a6e'],
      exits: ['notFound', 'unreachable', 'timedOut', 'refused'],
      needs: 'rest',
    },
    async ([name = ''], flags) =>
      (await import('./rollout-command.js')).makeRevisionFrom('former', name, flags),
  ),
  command(
    {
      words: 'redeploy',
      about: 'make a new revision as the newest one is, such as after a failure that has passed',
      arguments: [DEPLOYMENT_NAME],
      options: revisionOption('the revision to make it from; by default the newest'),
      examples: ['redeploy sample-agent', 'redeploy sample-agent --revision 2f0d4a6e --no-wait'],
      exits: ['notFound', 'unreachable', 'timedOut', 'refused'],
      needs: 'rest',
    },
    async ([name = ''], flags) =>
      (await import('./rollout-command.js')).makeRevisionFrom('latest', name, flags),
  ),
  command(
    {
      words: 'restart',
      about:
        'replace the pods of the revision that serves by new ones; the old ones serve until then, and no setting changes',
      arguments: [DEPLOYMENT_NAME],
      options: {
        force: toggle('--force', 'also while another revision is on its way, which continues'),
        ...WAIT_OPTIONS,
      },
      examples: ['restart sample-agent'],
      exits: ['notFound', 'unreachable', 'timedOut', 'refused'],
      needs: 'rest',
    },
    async ([name = ''], flags) => (await import('./rollout-command.js')).restart(name, flags),
  ),
  command(
    {
      words: 'suspend',
      about: 'end the pods of a deployment; its database, revisions and address stay',
      arguments: [DEPLOYMENT_NAME],
      options: TARGET_OPTIONS,
      examples: ['suspend sample-agent'],
      exits: ['notFound', 'unreachable', 'refused'],
      needs: 'rest',
    },
    async ([name = ''], flags) => (await import('./rollout-command.js')).suspend(name, flags),
  ),
  command(
    {
      words: 'resume',
      about: 'start the pods of a suspended deployment again, and wait until it serves',
      arguments: [DEPLOYMENT_NAME],
      options: WAIT_OPTIONS,
      examples: ['resume sample-agent', 'resume sample-agent --no-wait'],
      exits: ['notFound', 'unreachable', 'timedOut', 'refused'],
      needs: 'rest',
    },
    async ([name = ''], flags) => (await import('./rollout-command.js')).resume(name, flags),
  ),
];
