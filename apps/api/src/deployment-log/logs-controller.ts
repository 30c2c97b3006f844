import type { Caller } from '#lib/auth';
import { PublicError } from '#lib/errors';
import type { KubeClient } from '#lib/kube';
import {
  byTime,
  containersOf,
  followLogs,
  LastLines,
  type LogLine,
  type LogSource,
  logSources,
  readLogs,
} from '#lib/pod-logs';
import type { Pod } from '#lib/resources';
import type { Clock } from '#lib/time';
import { RestingTurns } from '../kubernetes/resting-turns.js';
import {
  type LogRecord,
  LogsQuery,
  parseSince,
  formatFor,
  JSON_LINES,
  type LogFormat,
  PLAIN_TEXT,
} from './log-query.js';
import {
  buildSelectionOf,
  findLogged,
  isThere,
  keptOutput,
  type LoggedObjects,
  type LoggedPlaces,
  type LogTarget,
  selectionOf,
  MAX_PODS,
  type PodList,
  PodLists,
} from './logged-pods.js';
import { Readable } from 'node:stream';
import { type OnModuleDestroy, Query, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Admission } from '#lib/admission';
import { FromCaller } from '../tenancy/caller.js';
import { AnswerBudget } from '../core/answer-budget.js';
import { Described, Resource } from '../wire/operation.js';
import { PathId } from '../wire/query-flag.js';
import { Get } from '../wire/route.js';
import { READ } from '../wire/route-access.js';
import { wrongField } from '../wire/request-pipe.js';

/** Maximum size of the lines of one answer that does not follow. */
const MAX_BYTES = 4_194_304;
/** Maximum number of containers whose logs are read at once. */
const MAX_SOURCES = 64;
const HEARTBEAT_MS = 15_000;
/** Then the reader asks again, and its key is looked at again. */
const MAX_FOLLOW_MS = 3_600_000;
const CUT = `the logs of ${MAX_PODS} pods are looked at; name a pod for others`;
/** Maximum number of containers that an error names when the requested one does not exist. */
const MAX_NAMES = 32;

/** A request for logs. */
export interface LogRequest {
  readonly caller: Caller;
  readonly target: LogTarget;
  readonly query: LogsQuery;
  /** Aborted when the reader has gone. */
  readonly signal: AbortSignal;
}

type Client = Pick<KubeClient, 'podLogs' | 'pages' | 'find'>;

/** A target and its found objects. */
interface Found {
  readonly logged: LoggedObjects;
  readonly list: PodList;
  readonly kept: readonly LogLine[];
  readonly since: string | undefined;
}

/** Logs of deployments, read from the pods of the caller's own namespace as they are asked for. */
export class DeploymentLogs {
  readonly #turns: RestingTurns;
  readonly #lists: PodLists;

  constructor(
    private readonly client: Client,
    private readonly places: LoggedPlaces,
    private readonly clock: Clock,
    private readonly buildNamespace?: string,
  ) {
    this.#turns = new RestingTurns(clock);
    this.#lists = new PodLists(client, this.#turns, clock);
  }

  /**
   * The records of an answer, as many at once as there are.
   * @throws errors of the request, before the first record
   */
  async open(request: LogRequest): Promise<AsyncIterable<readonly LogRecord[]>> {
    const { caller, target, query, signal } = request;
    if (query.follow === true && query.previous === true)
      throw wrongField(['query', 'previous'], 'A container that has ended cannot be followed');
    const logged = await findLogged(this.places, caller, target);
    const { namespace } = logged;
    const list = await this.#list(logged, query, { isRecent: false });
    const kept = await this.#turns.take(
      namespace,
      () => keptOutput(this.client, logged, list.pods, query),
      signal,
    );
    checkNames(query, logged, list.pods, kept);
    const since = query.since === undefined ? undefined : parseSince(query.since, this.clock.now());
    const wanted = since === undefined ? kept : kept.filter(({ time }) => time >= since);
    const found = { logged, list, kept: wanted, since };
    return query.follow === true ? this.#follow(request, found) : once(await this.#read(request, found));
  }

  async #list(
    logged: LoggedObjects,
    query: LogsQuery,
    how: { readonly isRecent: boolean },
  ): Promise<PodList> {
    const places = [selectionOf(logged, query), buildSelectionOf(logged, this.buildNamespace, query)];
    const lists = await Promise.all(places.flatMap((one) => (one ? [this.#lists.find(one, how)] : [])));
    return { pods: lists.flatMap(({ pods }) => pods), isCut: lists.some(({ isCut }) => isCut) };
  }

  async #read(
    { query, signal }: LogRequest,
    { logged, list, kept, since }: Found,
  ): Promise<readonly LogRecord[]> {
    const { tail, container, previous = false } = query;
    const notes = list.isCut ? [CUT] : [];
    const sources = bounded(logSources(list.pods, { container, previous }), notes);
    const last = new LastLines(tail, MAX_BYTES);
    const options = { tail, since, previous, signal, onNote: (message: string) => notes.push(message) };
    for await (const lines of readLogs(this.client, sources, options)) last.add(lines);
    const lines = [...kept, ...last.lines()].sort(byTime);
    if (last.isCut)
      notes.push(`fewer than ${tail} lines are shown: an answer has ${MAX_BYTES} bytes at most`);
    if (sources.length === 0 && kept.length === 0) notes.push(emptyText(logged, previous));
    const shown = lines.slice(Math.max(0, lines.length - tail));
    return [...notes.map(noteOf), ...shown.map(lineOf)];
  }

  async *#follow(
    { caller, target, query, signal }: LogRequest,
    { logged, list, kept, since }: Found,
  ): AsyncGenerator<readonly LogRecord[], void, void> {
    const endsAtMs = this.clock.monotonicMs() + MAX_FOLLOW_MS;
    const isOver = (): boolean => this.clock.monotonicMs() > endsAtMs;
    const notes = list.isCut ? [CUT] : [];
    const batches = followLogs({
      client: this.client,
      pods: async () =>
        isOver() || !isThere(this.places, caller, target)
          ? undefined
          : (await this.#list(logged, query, { isRecent: true })).pods,
      container: query.container,
      tail: query.tail,
      since,
      signal,
      clock: this.clock,
      endsWithPods: false,
      idleMs: HEARTBEAT_MS,
      onNote: (message) => notes.push(message),
    });
    // at once, so that the reader has the head of the answer
    yield [{ kind: 'heartbeat' }, ...kept.slice(Math.max(0, kept.length - query.tail)).map(lineOf)];
    for await (const lines of batches) {
      const records = [...notes.splice(0).map(noteOf), ...lines.map(lineOf)];
      yield records.length > 0 ? records : [{ kind: 'heartbeat' }];
    }
    yield [
      noteOf(isOver() ? 'an answer ends after an hour; ask again with since' : `${logged.title} was deleted`),
    ];
  }
}

async function* once(records: readonly LogRecord[]): AsyncGenerator<readonly LogRecord[], void, void> {
  yield records;
}

function lineOf(line: LogLine): LogRecord {
  return { kind: 'line', line };
}

function noteOf(message: string): LogRecord {
  return { kind: 'note', message };
}

function bounded(sources: readonly LogSource[], notes: string[]): readonly LogSource[] {
  if (sources.length <= MAX_SOURCES) return sources;
  notes.push(
    `the logs of ${MAX_SOURCES} of ${sources.length} containers are shown; name a pod or a container for others`,
  );
  return sources.slice(-MAX_SOURCES);
}

function emptyText({ title, reason }: LoggedObjects, previous: boolean): string {
  const found = previous
    ? 'no container has been restarted'
    : 'no container has started, and no output is kept';
  return `${title} has no logs: ${found}${reason === undefined ? '' : ` (${reason})`}`;
}

/** @throws PublicError not_found for a pod or a container that the target does not have */
function checkNames(
  { pod, container }: LogsQuery,
  { title }: LoggedObjects,
  pods: readonly Pod[],
  kept: readonly LogLine[],
): void {
  if (kept.length > 0) return;
  if (pod !== undefined && pods.length === 0)
    throw new PublicError('not_found', `${title} has no pod ${pod}`);
  const names = containersOf(pods);
  if (container !== undefined && pods.length > 0 && !names.includes(container))
    throw new PublicError(
      'not_found',
      `${title} has no container ${container}: it has ${names.slice(0, MAX_NAMES).join(', ')}`,
    );
}

/** Each holds connections to the Kubernetes API and to nodes for as long as it follows. */
const PLACES = {
  capacity: 64,
  perOwner: 16,
  refusal: 'Too many logs are read at once; finish reading others, or try again',
};
/** Maximum memory of one answer: its lines, once as they were read and once as they are sent. */
export const HELD_BYTES = 8_388_608;
/** Maximum memory of an answer that follows: data that has come and is not sent yet. */
const HELD_FOLLOWING_BYTES = 2_097_152;

const ANSWER =
  'Lines by time, each a JSON object: `{"type":"line","time","pod","container","text"}`, `{"type":"note","message"}` or `{"type":"heartbeat"}`; `TIME POD CONTAINER TEXT` for those who accept text/plain';
const REFUSES = {
  404: 'There is no such deployment, revision, pod or container',
  429: 'Too many logs are read at once',
};
const LOGS: MethodDecorator = Described(({ ApiResponse }) =>
  ApiResponse({
    status: 200,
    description: ANSWER,
    content: Object.fromEntries(
      [JSON_LINES, PLAIN_TEXT].map(({ contentType }) => [
        contentType.split(';')[0] ?? '',
        { schema: { type: 'string' } },
      ]),
    ),
  }),
);

/** Places of those who read logs, in whichever form. */
export class LogPlaces extends Admission {
  constructor() {
    super(PLACES);
  }
}

/** Output of the pods of deployments. */
@Resource('Deployments (v2)', 'v2/deployments/:deployment_id')
export class LogsController implements OnModuleDestroy {
  readonly #closing = new AbortController();

  constructor(
    private readonly logs: DeploymentLogs,
    private readonly answers: AnswerBudget,
    private readonly places: LogPlaces,
  ) {}

  /**
   * Ends answers that follow: a server that closes waits for its answers, and these do not end by themselves.
   */
  onModuleDestroy(): void {
    this.#closing.abort(new Error('the api is stopping'));
  }

  @Get('logs', READ, {
    summary: 'What the pods of a deployment print',
    refuses: REFUSES,
    config: { countsAnswer: true },
  })
  @LOGS
  ofDeployment(
    @FromCaller() caller: Caller,
    @PathId('deployment_id') deploymentId: string,
    @Query() query: LogsQuery,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    return this.#send(caller, { deploymentId }, query, { request, reply });
  }

  @Get('revisions/:revision_id/logs', READ, {
    summary: 'What the pods of a revision print; of one that failed, the end of what they printed',
    refuses: REFUSES,
    config: { countsAnswer: true },
  })
  @LOGS
  ofRevision(
    @FromCaller() caller: Caller,
    @PathId('deployment_id') deploymentId: string,
    @PathId('revision_id') revisionId: string,
    @Query() query: LogsQuery,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    return this.#send(caller, { deploymentId, revisionId }, query, { request, reply });
  }

  async #send(
    caller: Caller,
    target: LogTarget,
    query: LogsQuery,
    { request, reply }: { request: FastifyRequest; reply: FastifyReply },
  ): Promise<void> {
    const leave = this.places.require(caller.tenantId).release;
    await this.answers.sendWatched(reply, caller.tenantId, leave, async ({ hold }, left) => {
      hold(query.follow === true ? HELD_FOLLOWING_BYTES : HELD_BYTES);
      const format = formatFor(request.headers.accept);
      const signal = AbortSignal.any([left, this.#closing.signal]);
      const records = await this.logs.open({ caller, target, query, signal });
      // a proxy that collects answers would hold back the lines of one that follows
      void reply.headers({ 'content-type': format.contentType, 'x-accel-buffering': 'no' });
      // a server that stops ends it, and would then wait for the next request of its client
      if (query.follow === true) void reply.header('connection', 'close');
      // the body of a HEAD is never read
      if (request.method === 'HEAD') return Readable.from([]);
      return Readable.from(rendered(records, format, signal), { objectMode: false });
    });
  }
}

async function* rendered(
  records: AsyncIterable<readonly LogRecord[]>,
  format: LogFormat,
  signal: AbortSignal,
): AsyncGenerator<Buffer, void, void> {
  try {
    for await (const batch of records) {
      const text = batch.map((record) => format.render(record)).join('');
      if (text !== '') yield Buffer.from(text);
    }
  } catch (error) {
    // the answer ends as it would have in the end: a server that stops leaves no answer torn
    if (!signal.aborted) throw error;
  }
}
