import type { Caller } from '#lib/auth';
import type { KubeClient } from '#lib/kube';
import { type AgentDeployment, EVENTS, idOf, type KubeEvent } from '#lib/resources';
import type { Deployments } from '../deployment/deployments.js';
import type { ResourceHome } from '../kubernetes/resource-home.js';
import type { EventAnswer, EventList } from './event-answer.js';
import type { EventsQuery } from './event-query.js';
import { isAbout } from './is-about.js';

/** Events of deployments, as the Kubernetes API has them: it forgets them after some time. */
export class DeploymentEvents {
  constructor(
    private readonly client: Pick<KubeClient, 'list'>,
    private readonly deployments: Pick<Deployments, 'find'>,
    private readonly home: Pick<ResourceHome<AgentDeployment>, 'list'>,
  ) {}

  /** The newest, newest last. @throws PublicError not_found */
  async list(caller: Caller, deploymentId: string, { limit }: EventsQuery): Promise<EventList> {
    const deployment = this.deployments.find(caller, deploymentId);
    const { namespace = '', creationTimestamp = '' } = deployment.metadata;
    const { items } = await this.client.list(EVENTS, { namespace });
    const others = this.home
      .list(namespace)
      .filter((other) => idOf(other) !== idOf(deployment))
      .map(({ metadata }) => metadata.name);
    const events = items
      .filter((event) => isAbout(event, deployment, others))
      .map(renderEvent)
      // of children of a former deployment of the name
      .filter(({ last_time: last }) => Date.parse(last) >= Date.parse(creationTimestamp))
      .sort((a, b) => Date.parse(a.last_time) - Date.parse(b.last_time));
    return { resources: events.slice(-limit) };
  }
}

/** Reporters of the older API set the times, those of the newer one `eventTime` and a series. */
function renderEvent(event: KubeEvent): EventAnswer {
  const { metadata, involvedObject, series, eventTime, source } = event;
  const made = eventTime ?? metadata.creationTimestamp ?? '';
  return {
    id: metadata.uid ?? metadata.name,
    type: event.type === 'Warning' ? 'Warning' : 'Normal',
    reason: event.reason ?? '',
    message: event.message ?? '',
    count: series?.count ?? event.count ?? 1,
    first_time: event.firstTimestamp ?? made,
    last_time: series?.lastObservedTime ?? event.lastTimestamp ?? made,
    object: { kind: involvedObject.kind ?? '', name: involvedObject.name ?? '' },
    source: [source?.component, event.reportingComponent].find((name) => (name ?? '') !== '') ?? null,
  };
}
