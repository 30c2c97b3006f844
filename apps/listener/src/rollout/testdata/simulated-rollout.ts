import {
  type AgentDeployment,
  type AgentRevision,
  type AgentRevisionStatus,
  type Condition,
  type ContainerState,
  type Deployment,
  findCondition,
  isConditionTrue,
  LABEL,
  type Pod,
  type Service,
} from '#lib/resources';
import { FakeClock } from '#lib/testing';
import { LISTENER_CONDITIONS } from '../../hub/hub.js';
import type { Hub } from '../../hub/hub-cluster.js';
import type { Place } from '../../place/place-cluster.js';
import { RolloutReconciler } from '../rollout-reconciler.js';
import { DEFAULT_PATIENCE } from '../world.js';

const KEY = { namespace: 'ws', name: 'a' };
const OWNER = { apiVersion: 'agentplane.dev/v1alpha1', kind: 'AgentDeployment', name: 'a', uid: 'u' };

/** What the pods of one Deployment do. */
export type Health = 'starting' | 'ready' | 'crashing' | 'broken';

export type Step =
  | { readonly kind: 'revision' }
  /** Of the revisions that exist, counted from the newest. */
  | { readonly kind: 'repeat'; readonly back: number }
  | { readonly kind: 'health'; readonly back: number; readonly health: Health }
  | { readonly kind: 'suspend'; readonly isSuspended: boolean }
  | { readonly kind: 'time'; readonly seconds: number }
  /** The listener dies with this write, which has its effect or has not, and begins anew with the next pass. */
  | { readonly kind: 'pass'; readonly diesAt?: { readonly write: number; readonly isDone: boolean } };

/** How often a container ended counts, so crashes are those of a moment. */
const STATES: Readonly<Record<Exclude<Health, 'ready' | 'starting'>, ContainerState>> = {
  crashing: { terminated: { exitCode: 1, message: 'Error: no model' } },
  broken: { terminated: { exitCode: 78, message: '{"reason":"GraphLoadFailed","message":"no such file"}' } },
};

class Died extends Error {}

/** The two clusters around one rollout, as hub and place show them, and the listener itself, which may die at any write. */
export class SimulatedRollout {
  /** Every move of the Service, with whether its target was ready then and had failed. */
  readonly moves: { readonly to: string; readonly isReady: boolean; readonly hasFailed: boolean }[] = [];
  readonly #clock = new FakeClock('2026-05-01T00:00:00Z');
  readonly #revisions = new Map<string, AgentRevision>();
  readonly #workloads = new Map<string, { deployment: Deployment; health: Health; ends: number }>();
  #service: Service | undefined;
  #isSuspended = false;
  #pods = 0;
  #dies: { write: number; readonly isDone: boolean } | undefined;
  #listener = this.#begin();

  async perform(step: Step): Promise<void> {
    switch (step.kind) {
      case 'revision':
        return this.#make();
      case 'repeat':
        return this.#make(this.#nameBack(step.back));
      case 'health':
        return this.#turn(this.#nameBack(step.back), step.health);
      case 'suspend':
        this.#isSuspended = step.isSuspended;
        return;
      case 'time':
        return this.#clock.advance(step.seconds * 1000);
      case 'pass':
        return this.pass(step.diesAt);
    }
  }

  /** One pass of the listener; it is a new program where it died. */
  async pass(dies?: { readonly write: number; readonly isDone: boolean }): Promise<void> {
    this.#dies = dies && { ...dies };
    try {
      await this.#listener.reconcile(KEY);
    } catch (error) {
      if (!(error instanceof Died)) throw error;
      this.#listener = this.#begin();
    } finally {
      this.#dies = undefined;
    }
  }

  /** Everything that has pods does well, and nothing more is asked for. */
  async settle(): Promise<void> {
    this.#isSuspended = false;
    for (let passes = 0; passes < 20; passes++) {
      for (const name of this.#workloads.keys()) this.#turn(name, 'ready');
      await this.#clock.advance(15_000);
      await this.pass();
    }
  }

  get isSuspended(): boolean {
    return this.#isSuspended;
  }

  /** By number. */
  get revisions(): readonly AgentRevision[] {
    return [...this.#revisions.values()];
  }

  get target(): { readonly revision: string; readonly workload: string } | undefined {
    const workload = this.#service?.spec.selector?.[LABEL.revision];
    const revision = this.#service?.metadata.labels?.[LABEL.revision];
    return workload === undefined ? undefined : { workload, revision: revision ?? workload };
  }

  /** Names of Deployments with how many pods they have. */
  get pods(): ReadonlyMap<string, number> {
    return new Map(
      [...this.#workloads].map(([name, { deployment }]) => [name, deployment.spec.replicas ?? 1]),
    );
  }

  #begin(): RolloutReconciler {
    return new RolloutReconciler(this.#hub(), this.#place(), {
      clock: this.#clock,
      settings: { version: '1', apiUrl: 'http://api', addresses: 'cluster-dns' },
      listenerName: 'default',
      patience: DEFAULT_PATIENCE,
      isBlind: () => false,
    });
  }

  #nameBack(back: number): string | undefined {
    return [...this.#revisions.keys()].at(-1 - back);
  }

  /** As the controller makes one: built at once. */
  #make(redeployOf?: string): void {
    const number = this.#revisions.size + 1;
    const name = `a-${String(number).padStart(5, '0')}`;
    const now = this.#clock.now().toISOString();
    const built: Condition = {
      type: 'Built',
      status: 'True',
      reason: 'Image',
      message: '',
      lastTransitionTime: now,
    };
    this.#revisions.set(name, {
      apiVersion: 'agentplane.dev/v1alpha1',
      kind: 'AgentRevision',
      metadata: {
        name,
        namespace: 'ws',
        uid: name,
        generation: 1,
        creationTimestamp: now,
        ownerReferences: [OWNER],
      },
      spec: {
        deploymentName: 'a',
        deploymentWireName: 'a',
        tenantId: 't',
        number,
        listenerName: 'default',
        source: 'internal_image',
        imageUri: 'x',
        envSecretName: 'e',
        databaseSecretName: 'd',
        platformSecretName: 'p',
        ...(redeployOf ? { redeployOf } : {}),
      },
      status: { image: 'local/x', conditions: [built] },
    } as unknown as AgentRevision);
  }

  #turn(name: string | undefined, health: Health): void {
    const workload = this.#workloads.get(name ?? '');
    if (!workload || workload.deployment.spec.replicas === 0 || workload.health === health) return;
    workload.ends += health === 'crashing' || health === 'broken' ? 1 : 0;
    workload.health = health;
  }

  /** Has the write its effect? Then, or before it, the program may die. */
  #write(effect: () => void): void {
    const dies = this.#dies && --this.#dies.write < 0 ? this.#dies : undefined;
    if (!dies || dies.isDone) effect();
    if (dies) throw new Died();
  }

  #hub(): Hub {
    const deployment = (): AgentDeployment =>
      ({
        apiVersion: OWNER.apiVersion,
        kind: OWNER.kind,
        metadata: { ...KEY, uid: 'u', generation: 1 },
        spec: { suspend: this.#isSuspended, source: 'internal_image', sourceConfig: {} },
      }) as unknown as AgentDeployment;
    return {
      sources: [],
      findDeployment: deployment,
      revisionsNamed: () => this.revisions,
      isBehind: () => false,
      report: async ({ metadata: { name } }, status) => this.#write(() => this.#report(name, status)),
      record: () => undefined,
      keepOutput: async () => this.#write(() => undefined),
      secretsOf: async () => ({ ofRevision: {} as never, ofDeployment: [] }),
      hold: async () => undefined,
      release: async () => undefined,
      holds: () => true,
    };
  }

  #report(name: string, reported: AgentRevisionStatus): void {
    const revision = this.#revisions.get(name);
    if (!revision) return;
    const others = (revision.status?.conditions ?? []).filter(
      ({ type }) => !LISTENER_CONDITIONS.includes(type),
    );
    const { image } = revision.status ?? {};
    this.#revisions.set(name, {
      ...revision,
      status: {
        ...(image === undefined ? {} : { image }),
        ...reported,
        conditions: [...others, ...(reported.conditions ?? [])],
      },
    });
  }

  #place(): Place {
    const none = async (): Promise<undefined> => undefined;
    return {
      ownership: 'reference',
      heldBy: undefined,
      sources: [],
      findWorkload: ({ metadata: { name } }) => this.#shown(name),
      findQueue: () => undefined,
      ask: none,
      askVersion: none,
      askLoad: none,
      askIdle: none,
      podsOf: ({ name }) => this.#podsOf(name),
      outputOf: async () => [],
      findService: () => this.#service,
      addressOf: () => 'http://a',
      holderOf: none,
      forget: none,
      isAutoscaled: () => false,
      applyWorkload: async (_revision, desired) => {
        this.#write(() => this.#apply(desired));
        return this.#shown(desired.metadata.name) ?? desired;
      },
      removeWorkload: async ({ metadata: { name } }) => this.#write(() => void this.#workloads.delete(name)),
      applyService: async (_deployment, desired) => this.#write(() => this.#point(desired)),
      applySecrets: async () => undefined,
      placed: (revision) => revision,
      clear: async () => true,
      clearDeployment: async () => true,
    };
  }

  #apply(desired: Deployment): void {
    const { name } = desired.metadata;
    const before = this.#workloads.get(name);
    const replicas = desired.spec.replicas ?? before?.deployment.spec.replicas ?? 1;
    const isStart = replicas > 0 && (before?.deployment.spec.replicas ?? 0) === 0;
    if (isStart) this.#pods++;
    const metadata = {
      ...desired.metadata,
      uid: before?.deployment.metadata.uid ?? `w${++this.#pods}`,
      generation: 1,
    };
    this.#workloads.set(name, {
      deployment: { ...desired, metadata, spec: { ...desired.spec, replicas } },
      health: isStart ? 'starting' : (before?.health ?? 'starting'),
      ends: isStart ? 0 : (before?.ends ?? 0),
    });
  }

  #shown(name: string): Deployment | undefined {
    const workload = this.#workloads.get(name);
    if (!workload) return undefined;
    const { deployment, health } = workload;
    const replicas = deployment.spec.replicas ?? 1;
    const ready = health === 'ready' ? replicas : 0;
    return {
      ...deployment,
      status: {
        observedGeneration: 1,
        replicas,
        updatedReplicas: replicas,
        readyReplicas: ready,
        availableReplicas: ready,
      },
    };
  }

  #podsOf(name: string): readonly Pod[] {
    const workload = this.#workloads.get(name);
    if (!workload || workload.deployment.spec.replicas === 0) return [];
    const { health, ends, deployment } = workload;
    const state = health === 'crashing' || health === 'broken' ? STATES[health] : { running: {} };
    const status = {
      name: 'agent',
      image: 'local/x',
      imageID: '',
      ready: health === 'ready',
      restartCount: ends,
    };
    return [
      {
        metadata: {
          name: `${name}-x`,
          uid: `${deployment.metadata.uid ?? ''}-x`,
          creationTimestamp: '2999-01-01T00:00:00Z',
        },
        spec: deployment.spec.template.spec,
        status: { containerStatuses: [{ ...status, state }] },
      },
    ];
  }

  #point(desired: Service): void {
    const before = this.target;
    this.#service = desired;
    const after = this.target;
    if (!after || after.revision === before?.revision) return;
    this.moves.push({
      to: after.revision,
      isReady: this.#workloads.get(after.workload)?.health === 'ready',
      hasFailed: isConditionTrue(this.#revisions.get(after.revision)?.status?.conditions, 'Failed'),
    });
  }
}

/** The final word on a revision, if there is one. */
export function lastWordOn({ status }: AgentRevision): string | undefined {
  return ['Failed', 'Superseded'].find((type) => findCondition(status?.conditions, type)?.status === 'True');
}
