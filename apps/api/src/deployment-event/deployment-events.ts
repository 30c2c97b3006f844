import type { Caller } from '#lib/auth';
import type { KubeClient } from '#lib/kube';
import { type AgentDeployment, EVENTS, idOf, type KubeEvent } from '#lib/resources';
import type { Clock } from '#lib/time';
import type { Deployments } from '../deployment/deployments.js';
import type { ResourceHome } from '../kubernetes/resource-home.js';
import { RestingTurns } from '../kubernetes/resting-turns.js';
import type { EventAnswer, EventList } from './event-answer.js';
import type { EventsQuery } from './event-query.js';

/** Objects of the name of the deployment itself. */
const NAMED_LIKE_IT: ReadonlySet<string> = new Set(['AgentDeployment', 'Service']);
/**
 * Suffix to the name of a deployment in the names of its revisions, their workloads and pods:
 * `-00001-7d9f-x2k`.
 */
const OF_REVISION = /^-\d{5,}(-|$)/;

/**
 * True when an event is about the deployment, one of its revisions, or the children of those. It compares
 * names, since the objects may be gone: names of revisions are their deployment's with a number, and those of
 * their children begin with them.
 * @param others names of the deployments beside it: `a-00001` may be one too, whose revisions are not those
 * of `a`
 */
function isAbout(
  { involvedObject: { kind = '', name = '', uid } }: KubeEvent,
  deployment: AgentDeployment,
  others: readonly string[],
): boolean {
  const own = deployment.metadata.name;
  if (NAMED_LIKE_IT.has(kind))
    // a deployment of the same name may have been there before
    return (
      name === own && (kind !== 'AgentDeployment' || uid === undefined || uid === deployment.metadata.uid)
    );
  if (!isRevisionOf(own, name)) return false;
  return !others.some((other) => other.length > own.length && isRevisionOf(other, name));
}

function isRevisionOf(deployment: string, name: string): boolean {
  return name.startsWith(deployment) && OF_REVISION.test(name.slice(deployment.length));
}

/** Events are usually small, but a client may write large ones. */
const PAGE_SIZE = 50;
/** The messages of the API server's own reporters end there too. */
const MAX_MESSAGE = 1_024;
const MAX_WORD = 256;

/** Events of deployments, as the Kubernetes API has them: it forgets them after some time. */
export class DeploymentEvents {
  readonly #turns: RestingTurns;

  constructor(
    private readonly client: Pick<KubeClient, 'pages'>,
    private readonly deployments: Pick<Deployments, 'find'>,
    private readonly home: Pick<ResourceHome<AgentDeployment>, 'list'>,
    clock: Clock,
  ) {
    this.#turns = new RestingTurns(clock);
  }

  /**
   * The newest events, newest last. All events of the namespace are read for it, a page at a time, and no
   * more are held than needed.
   * @param signal aborted when the reader has gone
   * @throws PublicError not_found
   */
  async list(
    caller: Caller,
    deploymentId: string,
    { limit }: EventsQuery,
    signal?: AbortSignal,
  ): Promise<EventList> {
    const deployment = this.deployments.find(caller, deploymentId);
    const { namespace = '' } = deployment.metadata;
    const work = (): Promise<readonly EventAnswer[]> => this.#newest(deployment, limit, signal);
    return { resources: await this.#turns.take(namespace, work, signal) };
  }

  async #newest(
    deployment: AgentDeployment,
    limit: number,
    signal: AbortSignal | undefined,
  ): Promise<readonly EventAnswer[]> {
    const { namespace = '', creationTimestamp = '' } = deployment.metadata;
    const others = this.home
      .list(namespace)
      .filter((other) => idOf(other) !== idOf(deployment))
      .map(({ metadata }) => metadata.name);
    let newest: EventAnswer[] = [];
    for await (const { items } of this.client.pages(EVENTS, {
      namespace,
      pageSize: PAGE_SIZE,
      ...(signal ? { signal } : {}),
    })) {
      const events = items
        .filter((event) => isAbout(event, deployment, others))
        .map(renderEvent)
        // events of children of a deleted deployment of the same name are left out
        .filter(({ last_time: last }) => Date.parse(last) >= Date.parse(creationTimestamp));
      if (events.length > 0)
        newest = [...newest, ...events]
          .sort((a, b) => Date.parse(a.last_time) - Date.parse(b.last_time))
          .slice(-limit);
    }
    return newest;
  }
}

/** Reporters of the older API set the times, those of the newer one `eventTime` and a series. */
function renderEvent(event: KubeEvent): EventAnswer {
  const { metadata, involvedObject, series, eventTime, source } = event;
  const made = eventTime ?? metadata.creationTimestamp ?? '';
  return {
    id: cut(metadata.uid ?? metadata.name, MAX_WORD),
    type: event.type === 'Warning' ? 'Warning' : 'Normal',
    reason: cut(event.reason, MAX_WORD),
    message: cut(event.message, MAX_MESSAGE),
    count: series?.count ?? event.count ?? 1,
    first_time: event.firstTimestamp ?? made,
    last_time: series?.lastObservedTime ?? event.lastTimestamp ?? made,
    object: { kind: cut(involvedObject.kind, MAX_WORD), name: cut(involvedObject.name, MAX_WORD) },
    source:
      cut(
        [source?.component, event.reportingComponent].find((name) => (name ?? '') !== ''),
        MAX_WORD,
      ) || null,
  };
}

function cut(text = '', letters: number): string {
  if (text.length <= letters) return text;
  // a copy: a part of a text keeps all of it in memory
  return Buffer.from(`${text.slice(0, letters)}…`).toString();
}
