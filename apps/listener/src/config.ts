import { choice, type Config, flag, integer, list, optionalText, text, url } from '#lib/config';
import { FIELD_MANAGER } from '#lib/resources';
import { DEFAULT_PATIENCE } from './rollout/world.js';

/** Settings of the listener. */
export const CONFIG = {
  listener: text('AGENTPLANE_LISTENER', 'name of the Listener resource of this program'),
  homeNamespace: text('AGENTPLANE_HOME_NAMESPACE', 'namespace of the Listener resource'),
  namespaces: list(
    'AGENTPLANE_NAMESPACES',
    'namespaces to work in, separated by commas; of a remote listener, those of its own cluster',
  ),
  kubeconfigPath: optionalText(
    'KUBECONFIG',
    'path of a kubeconfig of the cluster where revisions run; the mounted service account when missing',
  ),
  hubKubeconfigPath: optionalText(
    'AGENTPLANE_HUB_KUBECONFIG',
    'of a remote listener: path of a kubeconfig of the cluster of the resources; where revisions run when missing',
  ),
  idleKey: text(
    'AGENTPLANE_IDLE_KEY',
    'key of the tokens by which pods are asked whether they are idle, from the Secret that the controller makes',
    { secret: true },
  ),
  apiUrl: url('AGENTPLANE_API_URL', 'address of the api program, handed on to agents'),
  addresses: choice('AGENTPLANE_ADDRESSES', 'how Services are reached', ['loopback', 'cluster-dns'], {
    fallback: 'cluster-dns',
  }),
  agentsNonRoot: flag(
    'AGENTPLANE_AGENTS_NON_ROOT',
    'whether pods of agents must not run as root, as the restricted Pod Security Standard asks for',
    { fallback: false },
  ),
  buildPullSecret: optionalText(
    'AGENTPLANE_BUILD_PULL_SECRET',
    'Secret, in the namespaces of agents, with which pods of those that were built from git fetch their images',
  ),
  identity: text('AGENTPLANE_IDENTITY', 'name of this candidate for leadership; the pod’s name', {
    fallback: FIELD_MANAGER.listener,
  }),
  logLevel: choice('AGENTPLANE_LOG_LEVEL', 'what is logged', ['debug', 'info', 'warn', 'error'], {
    fallback: 'info',
  }),
  heartbeatMs: integer('AGENTPLANE_HEARTBEAT_MS', 'time between two heartbeats, milliseconds', {
    fallback: 10_000,
    min: 1000,
  }),
  readinessMs: integer(
    'AGENTPLANE_READINESS_MS',
    'how long a revision may take to become ready, milliseconds',
    {
      fallback: DEFAULT_PATIENCE.readinessMs,
      min: 1000,
    },
  ),
  imagePullMs: integer('AGENTPLANE_IMAGE_PULL_MS', 'how long an image may be missing, milliseconds', {
    fallback: DEFAULT_PATIENCE.imagePullMs,
  }),
  retireMs: integer(
    'AGENTPLANE_RETIRE_MS',
    'how long a former revision goes on serving open connections, milliseconds',
    {
      fallback: DEFAULT_PATIENCE.retireMs,
    },
  ),
  standbyWarmMs: integer(
    'AGENTPLANE_STANDBY_WARM_MS',
    'how long the former revision keeps its pods for a rollback, milliseconds',
    {
      fallback: DEFAULT_PATIENCE.standbyWarmMs,
    },
  ),
};

export type ListenerConfig = Config<typeof CONFIG>;
