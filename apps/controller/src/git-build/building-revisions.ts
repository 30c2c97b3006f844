import type { Informer } from '#lib/kube';
import type { AgentRevision } from '#lib/resources';
import { deploymentOf, isBuilding } from './find-turn.js';

const BUILDING = 'building-from-git';
const DEPLOYMENT = 'deployment-of-revision';
const YES = 'yes';

/**
 * The revisions that decide the order of builds: those of deployments that build. Each waiting one asks every
 * few seconds, and would read all revisions of the machine otherwise.
 */
export class BuildingRevisions {
  readonly #revisions: Pick<Informer<AgentRevision>, 'byIndex'>;

  constructor(revisions: Pick<Informer<AgentRevision>, 'byIndex' | 'addIndex'>) {
    this.#revisions = revisions;
    revisions.addIndex(BUILDING, (one) => (isBuilding(one) ? [YES] : []));
    revisions.addIndex(DEPLOYMENT, (one) => [deploymentOf(one)]);
  }

  /** Revisions of this one's deployment, and of all deployments that build or wait. */
  around(own: AgentRevision): readonly AgentRevision[] {
    const deployments = new Set([own, ...this.#revisions.byIndex(BUILDING, YES)].map(deploymentOf));
    return [...deployments].flatMap((one) => this.#revisions.byIndex(DEPLOYMENT, one));
  }
}
