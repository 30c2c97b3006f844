import { type Command, command, optional, parsed, toggle } from '#lib/command-line';
import { TARGET_OPTIONS } from '../context/target.js';
import { parseCount } from '../parse-count.js';
import { timeoutOption } from '../waiting/timeout-option.js';
import { OUTPUT } from '../output/output-option.js';

export const NAMESPACE_OPTION = optional(
  '-n, --namespace <name>',
  'namespace, ws-NAME of a workspace; by default that of the kubeconfig',
  'namespace',
);

/** Verbs over every kind of object. */
export const OBJECT_COMMANDS: readonly Command[] = [
  command(
    {
      words: 'get',
      about: 'list objects of a kind, or show one',
      arguments: [
        {
          name: 'kind',
          about:
            'agents, revisions, exports, runs, destinations, pods …; kind, plural or short name (adep, bx)',
          completes: 'kind',
        },
        { name: 'name', about: 'name, or id of the REST interface', isOptional: true, completes: 'object' },
      ],
      options: {
        namespace: NAMESPACE_OPTION,
        allNamespaces: toggle('-A, --all-namespaces', 'objects of every namespace'),
        selector: optional('-l, --selector <labels>', 'labels to match: a=b,c!=d'),
        watch: toggle('-w, --watch', 'go on with what changes, until Ctrl-C'),
        limit: parsed('--limit <count>', 'so many of each kind; all by default', parseCount),
        ...TARGET_OPTIONS,
        output: OUTPUT,
      },
      examples: [
        'get adep',
        'get adep -w',
        'get bx nightly -o yaml',
        "get pods -A -o jsonpath='{.items[*].metadata.name}'",
      ],
      exits: ['notFound', 'unreachable', 'refused', 'interrupted'],
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
        { name: 'name', about: 'name, or id of the REST interface', isOptional: true, completes: 'object' },
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
      words: 'apply',
      about: 'create or change the objects of a manifest, of any kind',
      options: {
        file: optional('-f, --file <file>', 'manifest in YAML or JSON; - reads standard input', 'file'),
        namespace: NAMESPACE_OPTION,
        ...TARGET_OPTIONS,
      },
      examples: ['apply -f examples/export.yaml', 'apply -f - < destination.yaml'],
      exits: ['unreachable', 'refused'],
      needs: 'kubernetes',
    },
    async (_words, flags) => (await import('./apply-command.js')).applyFile(flags),
  ),
  command(
    {
      words: 'delete',
      about: 'delete an object of any kind, and wait until it and what belongs to it have ended',
      arguments: [
        { name: 'kind', about: 'kind, plural or short name', completes: 'kind' },
        {
          name: 'name',
          about: 'name, or id of the REST interface',
          isOptional: true,
          completes: 'object',
        },
      ],
      options: {
        yes: toggle('--yes', 'delete it; without this the command says what would be lost'),
        wait: toggle('--no-wait', 'do not wait until it has ended'),
        timeout: timeoutOption('5m'),
        namespace: NAMESPACE_OPTION,
        ...TARGET_OPTIONS,
      },
      examples: ['delete adep weather', 'delete adep weather --yes', 'delete bx/nightly --yes --no-wait'],
      exits: ['notFound', 'unreachable', 'timedOut', 'refused'],
      needs: 'kubernetes',
    },
    async (words, flags) => (await import('./delete-command.js')).deleteObject(words, flags),
  ),
];
