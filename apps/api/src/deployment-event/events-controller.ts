import type { Caller } from '#lib/auth';
import { KubeClient } from '#lib/kube';
import { type AgentDeployment, EVENTS, idOf, type KubeEvent } from '#lib/resources';
import type { Clock } from '#lib/time';
import { Deployments } from '../deployment/deployments.js';
import type { ResourceHome } from '../kubernetes/resource-home.js';
import { RestingTurns } from '../kubernetes/resting-turns.js';
import { Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Admission } from '#lib/admission';
import { FromCaller } from '../tenancy/caller.js';
import { AnswerBudget } from '../core/answer-budget.js';
import { Resource } from '../wire/operation.js';
import { PathId, QueryWhole } from '../wire/query-flag.js';
import { Get } from '../wire/route.js';
import { READ } from '../wire/route-access.js';
import { Answered, listOf, object, orNull, TEXT, TIME, WHOLE, words } from '../wire/shape.js';

const DEFAULT_LIMIT = 100;

/** Query of `GET /v2/deployments/{id}/events`. */
class EventsQuery {
  @QueryWhole({
    min: 1,
    max: 1_000,
    fallback: DEFAULT_LIMIT,
    about: 'Most events to answer: the newest of them',
  })
  limit: number = DEFAULT_LIMIT;
}

class EventObjectAnswer {
  @Answered(TEXT, 'AgentDeployment, AgentRevision, Deployment, ReplicaSet, Pod …') readonly kind: string;
  @Answered(TEXT) readonly name: string;
}

/** Something that happened to a deployment, its revisions or their pods. */
class EventAnswer {
  @Answered(TEXT) readonly id: string;
  @Answered(words(['Normal', 'Warning'])) readonly type: 'Normal' | 'Warning';
  @Answered(TEXT, 'A word such as `TrafficSwitched`') readonly reason: string;
  @Answered(TEXT) readonly message: string;
  @Answered(WHOLE, 'How often, from the first time to the last') readonly count: number;
  @Answered(TIME) readonly first_time: string;
  @Answered(TIME) readonly last_time: string;
  @Answered(object(() => EventObjectAnswer)) readonly object: EventObjectAnswer;
  @Answered(orNull(TEXT), 'The program that reported it') readonly source: string | null;
}

class EventList {
  @Answered(listOf(() => EventAnswer)) readonly resources: readonly EventAnswer[];
}

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

/** Each reads all events of a namespace. */
const PLACES = {
  capacity: 16,
  perOwner: 4,
  refusal: 'Too many lists of events are read at once; try again',
};
/** A page of large events while it is read, and then the answer. */
const HELD_BYTES = 8_388_608;

/** Events of deployments. */
@Resource('Deployments (v2)', 'v2/deployments/:deployment_id/events')
export class EventsController {
  readonly #places = new Admission(PLACES);

  constructor(
    private readonly events: DeploymentEvents,
    private readonly answers: AnswerBudget,
  ) {}

  @Get('', READ, {
    summary: 'What happened to a deployment, its revisions and their pods, newest last',
    answer: EventList,
    refuses: { 404: 'There is no such deployment', 429: 'Too many lists of events are read at once' },
    config: { countsAnswer: true },
  })
  async list(
    @FromCaller() caller: Caller,
    @PathId('deployment_id') deploymentId: string,
    @Query() query: EventsQuery,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const leave = this.#places.require(caller.tenantId).release;
    await this.answers.sendWatched(reply, caller.tenantId, leave, async ({ hold }, signal) => {
      hold(HELD_BYTES);
      return await this.events.list(caller, deploymentId, query, signal);
    });
  }
}
