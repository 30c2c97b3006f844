import { type Command, command, optional, parsed, toggle } from '#lib/command-line';
import { parseDuration } from '#lib/time';
import { TARGET_OPTIONS } from '../context/target.js';
import { NAMESPACE_OPTION } from '../objects/object-rows.js';
import { oneOf } from '../parse-count.js';

function parseCount(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new Error('must be a whole number');
  return Number(text);
}

/** Commands for the output of running programs. */
export const LOGS_COMMANDS: readonly Command[] = [
  command(
    {
      words: 'logs',
      about: 'print the logs of a deployment, a revision, an export run, a listener or a pod',
      arguments: [
        { name: 'name', about: 'name, or KIND/NAME where several kinds have it', completes: 'deployment' },
      ],
      options: {
        follow: toggle('-f, --follow', 'go on until Ctrl-C, over breaks of the connection'),
        previous: toggle('-p, --previous', 'of containers before their last restart'),
        tail: parsed('--tail <lines>', 'so many last lines of all pods together', parseCount),
        since: parsed('--since <duration>', 'what is newer: 30s, 10m, 2h', parseDuration),
        timestamps: toggle('--timestamps', 'a time before each line'),
        container: optional('-c, --container <name>', 'container; by default all of them'),
        revision: optional('--revision <id>', 'one revision of a deployment: id, or name or number'),
        output: parsed('-o, --output <format>', 'json: lines as the programs wrote them', oneOf(['json']), [
          'json',
        ]),
        namespace: NAMESPACE_OPTION,
        ...TARGET_OPTIONS,
      },
      examples: [
        'logs sample-agent -f',
        'logs sample-agent --revision 3',
        'logs bxr/nightly-20260501 --tail 50',
      ],
      exits: ['notFound', 'unreachable', 'refused', 'interrupted'],
      needs: 'kubernetes',
    },
    async ([name = ''], flags) => (await import('./logs-command.js')).printLogs(name, flags),
  ),
];
