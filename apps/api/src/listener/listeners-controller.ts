import { randomUUID } from 'node:crypto';
import type { Caller } from '#lib/auth';
import { type FieldProblem, PublicError } from '#lib/errors';
import { placeNamespaces } from '#lib/manifests';
import {
  type AgentDeployment,
  ANNOTATION,
  CONDITION,
  DEFAULT_LISTENER,
  dnsLabel,
  idOf,
  isConditionTrue,
  LABEL,
  type Listener,
  MANAGED_BY,
  MAX_LISTENERS,
  statusReason,
} from '#lib/resources';
import { wireName } from '../deployment/render-deployment.js';
import { DNS_LABEL } from '../deployment/resource-spec-request.js';
import type { ResourceHome } from '../kubernetes/resource-home.js';
import { Workspaces } from '../tenancy/workspaces.js';
import { Choice, Nested, Text, TextList } from '../wire/fields.js';
import { type Page, pageOf, PageQuery, PathId } from '../wire/query-flag.js';
import { renderReason } from '../wire/render-reason.js';
import { invalid, wrongValue } from '../wire/request-pipe.js';
import {
  Answered,
  FLAG,
  listOf,
  object,
  orNull,
  TEXT,
  textList,
  TIME,
  UUID,
  WHOLE,
  words,
} from '../wire/shape.js';
import { rememberWords, type SentWords, wordFor } from '../wire/vocabulary.js';
import { Body, Query } from '@nestjs/common';
import { FromCaller } from '../tenancy/caller.js';
import { Resource } from '../wire/operation.js';
import { Get, Post, Patch, Delete } from '../wire/route.js';
import { WORKSPACE } from '../wire/route-access.js';
import { FromWords } from '../wire/speak-vocabulary.js';

const NAMESPACES =
  'Of a remote listener: namespaces of its own cluster, the first for deployments that name none';
const API_URL = {
  maxLength: 2048,
  pattern: /^https?:\/\/[^ /?#]+(\/[^ ?#]*[^ /?#])?$/,
  patternText: 'Input should be a valid URL without query and without a slash at its end',
  about: 'Where pods of that cluster reach this interface, which takes their traces and checks keys',
};

/** Namespaces that a listener works in. */
class ComputeConfigRequest {
  @TextList({ minSize: 1, maxSize: 64, maxLength: 63, about: NAMESPACES })
  cluster_namespaces?: string[] | null;
}

/** Settings that make a listener one of another cluster. */
class RemoteRequest {
  @Text({ ...API_URL, required: true })
  api_url: string;
}

/** Body of `POST /v2/listeners`. */
class CreateListenerRequest {
  @Text({
    minLength: 1,
    maxLength: 50,
    pattern: DNS_LABEL,
    patternText: 'String should be a DNS label',
    about: 'Name of the Listener; made of compute_id when unset',
  })
  name?: string | null;

  @Choice(['cluster'], { about: 'Immutable' })
  compute_type?: 'cluster' | null;

  @Text({ required: true, minLength: 1, maxLength: 253, about: 'Name of the cluster; immutable' })
  compute_id: string;

  @Nested(() => ComputeConfigRequest)
  compute_config?: ComputeConfigRequest | null;

  @Text({ maxLength: 256, about: 'Ignored: the listener reports its own' })
  version?: string | null;

  @Nested(() => RemoteRequest, {
    about: 'The listener runs in another cluster, started with "agentplane listener manifest"',
  })
  remote?: RemoteRequest | null;
}

/** Body of `PATCH /v2/listeners/{id}`. Immutable fields may be repeated, not changed. */
class PatchListenerRequest {
  @Choice(['cluster'], { about: 'Immutable' })
  compute_type?: 'cluster' | null;

  @Text({ minLength: 1, maxLength: 253, about: 'Immutable' })
  compute_id?: string | null;

  @Nested(() => ComputeConfigRequest)
  compute_config?: ComputeConfigRequest | null;

  @Text({ maxLength: 256, about: 'Ignored: the listener reports its own' })
  version?: string | null;

  @Nested(() => RemoteRequest, { about: 'Of a remote listener' })
  remote?: RemoteRequest | null;
}

/** Namespaces that a listener works in. */
class ComputeConfigAnswer {
  @Answered(textList(), 'Namespaces that the listener works in')
  readonly cluster_namespaces: readonly string[];
}

/** Addresses by which another cluster reaches the platform. */
class RemoteAnswer {
  @Answered(TEXT, 'Where pods of its cluster reach this interface') readonly api_url: string;
}

/** A listener on the wire. */
class ListenerAnswer {
  @Answered(UUID) readonly id: string;
  @Answered(TEXT, 'Name of the Listener') readonly name: string;
  @Answered(TIME) readonly created_at: string;
  @Answered(TIME, 'Time of the newest heartbeat') readonly updated_at: string;
  @Answered(orNull(TEXT)) readonly version: string | null;
  @Answered(words(['cluster'])) readonly compute_type: string;
  @Answered(TEXT) readonly compute_id: string;
  @Answered(object(() => ComputeConfigAnswer)) readonly compute_config: ComputeConfigAnswer;
  @Answered(orNull(object(() => RemoteAnswer)), 'Of a listener that runs in another cluster')
  readonly remote: RemoteAnswer | null;
  @Answered(FLAG, 'Whether its heartbeats arrive and, in this cluster, its pod is ready')
  readonly is_ready: boolean;
  @Answered(orNull(TEXT), 'Reason of the Ready condition: a CamelCase word')
  readonly status_reason: string | null;
  @Answered(orNull(TEXT), 'The same as a sentence') readonly status_message: string | null;
}

class ListenerPage {
  @Answered(listOf(() => ListenerAnswer)) readonly resources: readonly ListenerAnswer[];
  @Answered(WHOLE, 'What to send as offset for the next page') readonly offset: number;
}

const NAMED = 10;

/** The kinds that listeners are about. */
export interface ListenerHomes {
  readonly listeners: ResourceHome<Listener>;
  readonly deployments: ResourceHome<AgentDeployment>;
}

function renderListener(listener: Listener): ListenerAnswer {
  const { metadata, spec, status } = listener;
  return {
    id: idOf(listener) ?? '',
    name: metadata.name,
    created_at: metadata.creationTimestamp ?? '',
    updated_at: status?.lastHeartbeatTime ?? metadata.creationTimestamp ?? '',
    version: status?.version ?? null,
    compute_type: wordFor(listener, 'compute_type', spec.computeType),
    compute_id: spec.computeId,
    compute_config: { cluster_namespaces: placeNamespaces(listener) },
    remote: spec.remote ? { api_url: spec.remote.apiUrl } : null,
    is_ready: isConditionTrue(status?.conditions, CONDITION.ready),
    ...renderReason(statusReason(listener)),
  };
}

/** Listeners of a workspace. */
export class Listeners {
  constructor(
    private readonly homes: ListenerHomes,
    private readonly workspaces: Pick<Workspaces, 'homeOf'>,
  ) {}

  list(caller: Caller, query: PageQuery): Page<ListenerAnswer> {
    const { namespace } = this.workspaces.homeOf(caller.tenantId);
    return pageOf(this.homes.listeners.list(namespace).map(renderListener), query);
  }

  /** @throws PublicError not_found */
  get(caller: Caller, id: string): ListenerAnswer {
    return renderListener(this.#find(caller, id));
  }

  /** @throws PublicError conflict for a name or a compute id that is taken, and when there are as many as may be */
  async create(caller: Caller, request: CreateListenerRequest, sent: SentWords): Promise<ListenerAnswer> {
    const { namespace } = this.workspaces.homeOf(caller.tenantId);
    const all = this.homes.listeners.list(namespace);
    const { compute_id: computeId, remote, compute_config: config } = request;
    const name = request.name ?? dnsLabel(computeId);
    const namespaces = config?.cluster_namespaces ?? undefined;
    refuse(foreignNamespaces(namespaces, namespace, Boolean(remote)));
    if (all.some(({ metadata }) => metadata.name === name))
      throw new PublicError('conflict', `A listener named ${name} already exists`);
    const holder = all.find(({ spec }) => spec.computeId === computeId);
    if (holder)
      throw new PublicError(
        'conflict',
        `The compute id ${computeId} is used by listener ${holder.metadata.name}`,
      );
    if (all.length >= MAX_LISTENERS)
      throw new PublicError('conflict', `The workspace has ${MAX_LISTENERS} listeners, as many as it may`);
    const created = await this.homes.listeners.create({
      metadata: {
        name,
        namespace,
        annotations: { [ANNOTATION.id]: randomUUID(), ...rememberWords(sent) },
        labels: { [LABEL.managedBy]: MANAGED_BY },
      },
      spec: {
        computeType: 'cluster',
        computeId,
        ...(namespaces ? { namespaces } : {}),
        ...(remote ? { remote: { apiUrl: remote.api_url } } : {}),
      },
    });
    return renderListener(created);
  }

  /** @throws PublicError not_found */
  async update(caller: Caller, id: string, request: PatchListenerRequest): Promise<ListenerAnswer> {
    const { metadata, spec } = this.#find(caller, id);
    const { namespace = '', name } = metadata;
    const { remote } = request;
    const namespaces = request.compute_config?.cluster_namespaces ?? undefined;
    refuse([
      ...frozen('compute_type', request.compute_type, spec.computeType),
      ...frozen('compute_id', request.compute_id, spec.computeId),
      ...(remote && !spec.remote ? frozen('remote', remote, undefined) : []),
      ...foreignNamespaces(namespaces, namespace, spec.remote !== undefined),
    ]);
    const changed = await this.homes.listeners.change({ namespace, name }, (current) => ({
      ...current,
      spec: {
        ...current.spec,
        ...(namespaces ? { namespaces } : {}),
        ...(remote ? { remote: { apiUrl: remote.api_url } } : {}),
      },
    }));
    return renderListener(changed);
  }

  /**
   * Deletes a listener that no deployment is carried out by.
   * @throws PublicError not_found, conflict that names the deployments
   */
  async delete(caller: Caller, id: string): Promise<void> {
    const listener = this.#find(caller, id);
    const users = this.homes.deployments
      .filter(listener.metadata.namespace ?? '', (one) => isCarriedOutBy(one, listener))
      .map(wireName)
      .sort();
    if (users.length > 0) {
      const more = users.length > NAMED ? ` and ${users.length - NAMED} more` : '';
      throw new PublicError(
        'conflict',
        `Listener ${listener.metadata.name} carries out ${users.slice(0, NAMED).join(', ')}${more}: delete these deployments first`,
      );
    }
    await this.homes.listeners.delete(listener);
  }

  #find(caller: Caller, id: string): Listener {
    const { namespace } = this.workspaces.homeOf(caller.tenantId);
    const listener = this.homes.listeners.find(namespace, id);
    if (!listener) throw new PublicError('not_found', `Listener with ID ${id} not found`);
    return listener;
  }
}

function isCarriedOutBy({ spec }: AgentDeployment, listener: Listener): boolean {
  const { listenerRef, sourceConfig } = spec;
  if (listenerRef) return listenerRef.name === listener.metadata.name;
  if (sourceConfig.listenerId !== undefined) return sourceConfig.listenerId.toLowerCase() === idOf(listener);
  return listener.metadata.name === DEFAULT_LISTENER;
}

/** A tenant cannot grant rights in other namespaces of the hub's cluster. */
function foreignNamespaces(
  namespaces: readonly string[] | undefined,
  own: string,
  isRemote: boolean,
): readonly FieldProblem[] {
  if (isRemote || (namespaces ?? []).every((one) => one === own)) return [];
  return [
    wrongValue(
      ['body', 'compute_config', 'cluster_namespaces'],
      `a listener of this cluster works in the namespace of its workspace, ${own}; leave it out`,
    ),
  ];
}

function frozen(name: string, next: unknown, present: unknown): readonly FieldProblem[] {
  return next === undefined || next === null || next === present
    ? []
    : [{ loc: ['body', name], msg: 'Field is immutable', type: 'frozen_field' }];
}

function refuse(problems: readonly FieldProblem[]): void {
  if (problems.length > 0) throw invalid(problems);
}

@Resource('Listeners (v2)', 'v2/listeners')
export class ListenersController {
  constructor(private readonly listeners: Listeners) {}

  @Get('', WORKSPACE, { summary: 'Listeners of the workspace', answer: ListenerPage })
  list(@FromCaller() caller: Caller, @Query() query: PageQuery): ListenerPage {
    return this.listeners.list(caller, query);
  }

  @Get(':listener_id', WORKSPACE, { summary: 'A listener', answer: ListenerAnswer })
  get(@FromCaller() caller: Caller, @PathId('listener_id') id: string): ListenerAnswer {
    return this.listeners.get(caller, id);
  }

  @Post('', WORKSPACE, {
    summary: 'Creates a listener in this cluster or in another one',
    status: 201,
    answer: ListenerAnswer,
    refuses: { 409: 'The name or the compute id is taken, or the workspace has as many listeners as it may' },
  })
  create(
    @FromCaller() caller: Caller,
    @Body() body: CreateListenerRequest,
    @FromWords() sent: SentWords,
  ): Promise<ListenerAnswer> {
    return this.listeners.create(caller, body, sent);
  }

  @Patch(':listener_id', WORKSPACE, {
    summary: 'Changes namespaces and address of a listener',
    answer: ListenerAnswer,
  })
  update(
    @FromCaller() caller: Caller,
    @PathId('listener_id') id: string,
    @Body() body: PatchListenerRequest,
  ): Promise<ListenerAnswer> {
    return this.listeners.update(caller, id, body);
  }

  @Delete(':listener_id', WORKSPACE, {
    summary: 'Deletes a listener that carries out no deployment',
    status: 204,
    refuses: { 409: 'The listener carries out deployments; the answer names them' },
  })
  delete(@FromCaller() caller: Caller, @PathId('listener_id') id: string): Promise<void> {
    return this.listeners.delete(caller, id);
  }
}
