import { type Command, command, optional, parsed, repeated, toggle } from '#lib/command-line';
import { parseDuration } from '#lib/time';
import { TARGET_OPTIONS } from '../context/target.js';
import { oneOf } from '../parse-count.js';

const NAME = { name: 'name', about: 'name of a listener with spec.remote' };
const ADDRESSES = ['cluster-dns', 'loopback'] as const;
const ACCESS_OPTIONS = {
  namespace: optional(
    '-n, --namespace <name>',
    'namespace of the listener; by default that of the kubeconfig',
  ),
  server: optional('--server <url>', 'how the other cluster reaches this API server; as this command does'),
  duration: {
    flags: '--duration <duration>',
    about: 'how long the token is good: 720h, 90d; clusters may shorten it',
    fallback: parseDuration('365d'),
    shownFallback: '365d',
    parse: parseDuration,
  },
};

/** `agentplane listener …`. */
export const LISTENER_COMMANDS: readonly Command[] = [
  command(
    {
      words: 'listener manifest',
      about: 'print what starts a remote listener in its own cluster, for "kubectl apply -f -" there',
      arguments: [NAME],
      options: {
        ...ACCESS_OPTIONS,
        image: optional('--image <name>', 'image of the listener, as that cluster pulls it'),
        pullSecret: optional('--pull-secret <name>', 'Secret with the key of its registry, in that cluster'),
        addresses: parsed(
          '--addresses <how>',
          'how Services are reached there: cluster-dns, or loopback where a machine is its node',
          oneOf(ADDRESSES),
          ADDRESSES,
        ),
        agentsNonRoot: toggle(
          '--agents-non-root',
          'pods of agents there must not run as root, as the restricted Pod Security Standard asks for',
        ),
        onlySecret: toggle(
          '--only-secret',
          'the Secret with the kubeconfig of the hub alone, for the chart with remoteListener.hub.existingSecret',
        ),
        tracing: repeated(
          '--tracing <variable>',
          'NAME=VALUE of OpenTelemetry for the pods there, such as OTEL_EXPORTER_OTLP_ENDPOINT=http://collector:4318; may be repeated',
          (text) => text,
        ),
        ...TARGET_OPTIONS,
      },
      examples: [
        'listener manifest far | kubectl --context far apply -f -',
        'listener manifest far --only-secret | kubectl --context far apply -f -',
        'listener manifest far --server https://hub.example.org:6443 --image registry.example.org/agentplane/listener:0.2.0',
      ],
      exits: ['notFound', 'unreachable', 'refused'],
      needs: 'kubernetes',
    },
    async ([name = ''], flags) => (await import('./listener-command.js')).printManifest(name, flags),
  ),
  command(
    {
      words: 'listener kubeconfig',
      about: 'print a kubeconfig with the rights of a remote listener, and no others',
      arguments: [NAME],
      options: { ...ACCESS_OPTIONS, ...TARGET_OPTIONS },
      examples: ['listener kubeconfig far > far.kubeconfig', 'listener kubeconfig far --duration 24h'],
      exits: ['notFound', 'unreachable', 'refused'],
      needs: 'kubernetes',
    },
    async ([name = ''], flags) => (await import('./listener-command.js')).printKubeconfig(name, flags),
  ),
];
