import { type Command, command, optional, parsed, toggle } from '#lib/command-line';
import { parseDuration } from '#lib/time';
import { TARGET_OPTIONS } from '../context/target.js';
import { OUTPUT } from '../output/output-option.js';

export const NAMESPACE_OPTION = optional(
  '-n, --namespace <name>',
  'namespace; by default that of the kubeconfig',
);

function parseCount(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new Error('must be a whole number');
  return Number(text);
}

/** Verbs over every kind of object. */
export const OBJECT_COMMANDS: readonly Command[] = [
  command(
    {
      words: 'get',
      about: 'list objects of a kind, or show one',
      arguments: [
        {
          name: 'kind',
          about: 'kind, plural or short name: adep, arev, bx, bxr, bxd, pods …',
          completes: 'kind',
        },
        { name: 'name', about: 'name, or id of the REST interface', isOptional: true },
      ],
      options: {
        namespace: NAMESPACE_OPTION,
        allNamespaces: toggle('-A, --all-namespaces', 'objects of every namespace'),
        selector: optional('-l, --selector <labels>', 'labels to match: a=b,c!=d'),
        ...TARGET_OPTIONS,
        output: OUTPUT,
      },
      examples: ['get adep', 'get bx nightly -o yaml', "get pods -A -o jsonpath='{.items[*].metadata.name}'"],
      exits: ['notFound', 'unreachable', 'refused'],
      needs: 'kubernetes',
    },
    async (words, flags) => (await import('./get-command.js')).getObjects(words, flags),
  ),
  command(
    {
      words: 'describe',
      about: 'show one object with its conditions and events',
      arguments: [
        { name: 'kind', about: 'kind, plural or short name', completes: 'kind' },
        { name: 'name', about: 'name, or id of the REST interface', isOptional: true },
      ],
      options: { namespace: NAMESPACE_OPTION, ...TARGET_OPTIONS },
      examples: ['describe adep sample-agent', 'describe bxr/nightly-20260501'],
      exits: ['notFound', 'unreachable', 'refused'],
      needs: 'kubernetes',
    },
    async (words, flags) => (await import('./describe-command.js')).describeObject(words, flags),
  ),
  command(
    {
      words: 'logs',
      about: 'print the logs of a deployment, a revision, an export run, a listener or a pod',
      arguments: [{ name: 'name', about: 'name, or KIND/NAME where several kinds have it' }],
      options: {
        follow: toggle('-f, --follow', 'go on until Ctrl-C'),
        previous: toggle('-p, --previous', 'of the container before its last restart'),
        tail: parsed('--tail <lines>', 'so many last lines of each pod', parseCount),
        since: parsed('--since <duration>', 'what is newer: 30s, 10m, 2h', parseDuration),
        timestamps: toggle('--timestamps', 'a time before each line'),
        container: optional('-c, --container <name>', 'container; by default the first'),
        namespace: NAMESPACE_OPTION,
        ...TARGET_OPTIONS,
      },
      examples: ['logs sample-agent -f', 'logs bxr/nightly-20260501 --tail 50'],
      exits: ['notFound', 'unreachable', 'refused', 'interrupted'],
      needs: 'kubernetes',
    },
    async ([name = ''], flags) => (await import('./logs-command.js')).printLogs(name, flags),
  ),
];
