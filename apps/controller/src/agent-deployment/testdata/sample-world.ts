import { AGENT_VOLUMES } from '#lib/manifests';
import {
  type AgentDeployment,
  type AgentRevision,
  type Condition,
  type Listener,
  type Workspace,
} from '#lib/resources';
import type { DeploymentWorld } from '../observe.js';

export const LISTENER: Listener = {
  apiVersion: 'agentplane.dev/v1alpha1',
  kind: 'Listener',
  metadata: { name: 'far', namespace: 'ws-x', uid: '33333333-3333-4333-8333-333333333333' },
  spec: { computeType: 'cluster', computeId: 'here' },
};
const WORKSPACE: Workspace = {
  apiVersion: 'agentplane.dev/v1alpha1',
  kind: 'Workspace',
  metadata: { name: 'x' },
  spec: { tenantId: 't', plan: 'enterprise' },
};

/** One whose secrets may set variables that run code. */
export const TRUSTING: Workspace = {
  ...WORKSPACE,
  spec: { ...WORKSPACE.spec, allowDangerousEnvironment: true },
};

const ensured = (type: string): Condition => ({
  type,
  status: 'True',
  reason: 'R',
  message: '',
  lastTransitionTime: '',
  observedGeneration: 3,
});

/** The status once project and database exist. */
export const PROVISIONED: AgentDeployment['status'] = {
  tracingProjectId: 'p',
  conditions: [ensured('TracingProjectReady'), ensured('DatabaseReady')],
};

/** Of generation 3, with everything but a revision. */
export function deployment(
  spec: Partial<AgentDeployment['spec']> = {},
  metadata: Partial<AgentDeployment['metadata']> = {},
  status: AgentDeployment['status'] = PROVISIONED,
): AgentDeployment {
  return {
    apiVersion: 'agentplane.dev/v1alpha1',
    kind: 'AgentDeployment',
    metadata: {
      name: 'a',
      namespace: 'ws-x',
      uid: 'u',
      generation: 3,
      creationTimestamp: '2026-01-02T00:00:00Z',
      ...metadata,
    },
    spec: {
      source: 'external_image',
      sourceConfig: {},
      sourceRevisionConfig: { imageUri: 'i' },
      suspend: false,
      revisionHistoryLimit: 10,
      ...spec,
    },
    status,
  };
}

/** A revision with conditions written as `Type/Status/Reason`; one that is ready has an address. */
export function revision(number: number, ...words: string[]): AgentRevision {
  const conditions: Condition[] = words.map((word) => {
    const [type = '', status = 'True', reason = 'Because'] = word.split('/');
    return { type, status: status as 'True', reason, message: 'm', lastTransitionTime: 'then' };
  });
  return {
    apiVersion: 'agentplane.dev/v1alpha1',
    kind: 'AgentRevision',
    metadata: { name: `a-${number}`, uid: `id-${number}` },
    spec: { number } as AgentRevision['spec'],
    status: { conditions, ...(words.includes('Ready') ? { url: 'http://a.ws-x.svc' } : {}) },
  };
}

/** A world in which nothing is left to do but the revision. */
export function world(more: Partial<DeploymentWorld> = {}): DeploymentWorld {
  return {
    deployment: deployment(),
    workspace: WORKSPACE,
    revisions: [],
    listener: LISTENER,
    lostListener: undefined,
    silentListener: undefined,
    tracingProjectId: 'p',
    siblings: [],
    hostRivals: [],
    platformKey: 'key',
    database: { server: 'shared', isCurrent: true, mark: undefined },
    offersServers: false,
    runsProcesses: false,
    environment: {},
    refusedObject: undefined,
    agentVolumes: AGENT_VOLUMES,
    defaults: {},
    podSecurity: undefined,
    repeated: undefined,
    ...more,
  };
}
