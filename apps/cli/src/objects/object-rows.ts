import { type Command, command, optional, toggle } from '#lib/command-line';
import { TARGET_OPTIONS } from '../context/target.js';
import { OUTPUT } from '../output/output-option.js';

export const NAMESPACE_OPTION = optional(
  '-n, --namespace <name>',
  'namespace; by default that of the kubeconfig',
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
];
