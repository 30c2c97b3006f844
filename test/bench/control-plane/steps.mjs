import { KubeClient, loadKubeConnection } from '#lib/kube';
import { DEPLOYMENTS, PODS, RESOURCES, SERVICES } from '#lib/resources';
import { row } from './measuring.mjs';

const isTrue = ({ status }, type) =>
  status?.conditions?.some((one) => one.type === type && one.status === 'True') === true;
const serves = ({ metadata }) => metadata.labels?.['agentplane.dev/revision'];

/** What happens on the way of a revision, in this order: kind, and what its object then has. */
const STEPS = [
  ['revision is made', RESOURCES.AgentRevision, () => true],
  ['its variables are stored', RESOURCES.AgentRevision, (one) => isTrue(one, 'VariablesReady')],
  ['its image is known', RESOURCES.AgentRevision, (one) => isTrue(one, 'Built')],
  ['Deployment is made', DEPLOYMENTS, () => true],
  ['pod is made', PODS, () => true],
  ['pod has a node', PODS, ({ spec }) => spec.nodeName !== undefined],
  ['process is started', PODS, ({ status }) => status?.phase === 'Running'],
  ['pod is ready', PODS, (one) => isTrue(one, 'Ready')],
  ['Service points to it', SERVICES, (one, revision) => serves(one) === revision],
  ['revision is ready', RESOURCES.AgentRevision, (one) => isTrue(one, 'Ready')],
];

/** Follows objects, and says when each step of the revisions that are being made was first seen. */
export class Steps {
  #client;
  #end = new AbortController();
  /** By revision, by step. */
  #seen = new Map();

  static async follow(kubeconfigPath) {
    const steps = new Steps();
    const connection = await loadKubeConnection({ kubeconfigPath });
    steps.#client = new KubeClient(connection, { fieldManager: 'benchmark' });
    for (const ref of new Set(STEPS.map(([, one]) => one)))
      steps.#follow(ref).catch((error) => {
        if (!steps.#end.signal.aborted) throw error;
      });
    return steps;
  }

  async #follow(ref) {
    for await (const { type, object } of this.#client.watch(ref, { signal: this.#end.signal }))
      if (type === 'ADDED' || type === 'MODIFIED') this.#look(ref, object);
  }

  #look(ref, object) {
    const revision =
      ref === RESOURCES.AgentRevision || ref === DEPLOYMENTS ? object.metadata.name : serves(object);
    const seen = this.#seen.get(revision) ?? new Map();
    this.#seen.set(revision, seen);
    for (const [name, of, isDone] of STEPS)
      if (of === ref && !seen.has(name) && isDone(object, revision)) seen.set(name, performance.now());
  }

  /** Rows of the steps of these revisions, each from its beginning. */
  report(begun) {
    for (const [name] of STEPS)
      row(
        `  until ${name}`,
        begun.flatMap(({ revision, began }) => {
          const at = this.#seen.get(revision)?.get(name);
          return at === undefined ? [] : [at - began];
        }),
      );
  }

  async stop() {
    this.#end.abort();
    await this.#client.close();
  }
}
