import { createHash } from 'node:crypto';
import type { Caller } from '#lib/auth';
import { type FieldProblem, PublicError } from '#lib/errors';
import { isJsonObject, parseJson } from '#lib/json';
import { lineTime, type LogLine } from '#lib/pod-logs';
import { CONDITION, findCondition, type RevisionWireStatus } from '#lib/resources';
import { invalid } from '../wire/request-pipe.js';
import type { DeploymentAnswer, RevisionAnswer } from '../deployment/deployment-answer.js';
import { leftOutText, leftOutVariables } from '../deployment/render-deployment.js';
import type { DeploymentRevisions } from '../deployment/deployment-revisions.js';
import type { Deployments } from '../deployment/deployments.js';
import { type DeploymentLogs, HELD_BYTES, LogPlaces } from './logs-controller.js';
import { LEVELS, LogEntriesRequest, type LogEntry, LogEntriesAnswer } from './log-entry.js';
import type { LogTarget } from './logged-pods.js';
import { Body, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { FromCaller } from '../tenancy/caller.js';
import { AnswerBudget } from '../core/answer-budget.js';
import { Resource } from '../wire/operation.js';
import { PathId } from '../wire/query-flag.js';
import { Post } from '../wire/route.js';
import { READ } from '../wire/route-access.js';

/** Lines of containers are read up to this number, before they are filtered. */
const TAIL = 10_000;
const BUILD_CONTAINERS = ['fetch', 'build', 'push'] as const;
/** Pods of builds on one machine (`REVISION-build-…`), and on a cluster. */
const BUILD_POD = /(^build-[0-9a-f]{32}|-build)(-[a-z0-9]+)?$/;
const BUILD_STATUSES: ReadonlySet<RevisionWireStatus> = new Set([
  'CREATING',
  'QUEUED',
  'AWAITING_BUILD',
  'BUILDING',
  'CREATE_FAILED',
  'BUILD_FAILED',
  'SKIPPED',
]);
const LEVEL_WORD = /\b(debug|info|warn(?:ing)?|error|critical|fatal)\b/i;
/** The word of a level is looked for at the beginning of a line. */
const LEVEL_LETTERS = 80;
const ID_LETTERS = 22;

export type LogKind = 'build' | 'deploy';
type Level = (typeof LEVELS)[number];

/** A request for entries. */
export interface EntriesWanted {
  readonly caller: Caller;
  readonly target: LogTarget;
  readonly kind: LogKind;
  readonly request: LogEntriesRequest;
  readonly signal: AbortSignal;
}

interface EntryPlaces {
  readonly deployments: Pick<Deployments, 'find' | 'get'>;
  readonly revisions: Pick<DeploymentRevisions, 'get'>;
}

/**
 * Logs as entries with a level and an id, as clients of this interface page through them. The reason why a revision
 * or a deployment is not ready is the last entry, since these clients read no conditions.
 */
export class LogEntries {
  constructor(
    private readonly logs: Pick<DeploymentLogs, 'open'>,
    private readonly places: EntryPlaces,
  ) {}

  async read({ caller, target, kind, request, signal }: EntriesWanted): Promise<LogEntriesAnswer> {
    const since = instant(request.start_time, 'start_time');
    const until = instant(request.end_time, 'end_time');
    // it refuses what does not exist, before logs are read
    const state = await this.#stateOf(caller, target, kind);
    const query = { tail: TAIL, ...(since === undefined ? {} : { since }) };
    const read = async (container?: string): Promise<readonly LogLine[]> => {
      const of = container === undefined ? query : { ...query, container };
      const lines: LogLine[] = [];
      for await (const records of await this.logs.open({ caller, target, query: of, signal }))
        for (const record of records) if (record.kind === 'line') lines.push(record.line);
      return lines;
    };
    const lines =
      kind === 'build'
        ? (await Promise.all(BUILD_CONTAINERS.map((one) => orNone(read(one))))).flat()
        : await read();
    const entries = entriesOf(lines.filter((line) => isOfBuild(line) === (kind === 'build')));
    // a state that passes is worth an entry while nothing is printed yet: clients that follow would see each of them
    const shown = state.filter(({ level }) => level === 'ERROR' || entries.length === 0);
    const leftOut = kind === 'deploy' ? this.#leftOut(caller, target) : [];
    const wanted = [...leftOut, ...entries, ...shown]
      .filter(({ timestamp }) => (since === undefined || timestamp >= since) && !isAfter(timestamp, until))
      .filter(({ level }) => !request.level || LEVELS.indexOf(level) >= LEVELS.indexOf(request.level))
      .filter(({ message }) => message.toLowerCase().includes((request.query ?? '').toLowerCase()));
    return pageOf(wanted, request);
  }

  /** Variables that the deployment did not get: clients that send whole files of them read no header. */
  #leftOut(caller: Caller, { deploymentId }: LogTarget): readonly LogEntry[] {
    const deployment = this.places.deployments.find(caller, deploymentId);
    const message = leftOutText(leftOutVariables(deployment));
    if (message === '') return [];
    const timestamp = lineTime(deployment.metadata.creationTimestamp ?? '') ?? '';
    return [
      {
        id: idOf([deploymentId, message]),
        timestamp,
        level: 'WARNING',
        message,
        pod: null,
        container: null,
      },
    ];
  }

  /** The reason why the target does not serve, as an entry. */
  async #stateOf(caller: Caller, target: LogTarget, kind: LogKind): Promise<readonly LogEntry[]> {
    const { deploymentId, revisionId } = target;
    const { deployments, revisions } = this.places;
    const deployment = deployments.find(caller, deploymentId);
    const ready = findCondition(deployment.status?.conditions, CONDITION.ready);
    const isRefused = ready?.status === 'False';
    if (revisionId === undefined) {
      const shown = await deployments.get(caller, deploymentId);
      return ready?.status === 'True' ? [] : stateEntry(shown, isRefused);
    }
    const shown = await revisions.get(caller, deploymentId, revisionId);
    const isShown = kind === 'build' ? BUILD_STATUSES.has(shown.status) : shown.status !== 'DEPLOYED';
    if (!isShown) return [];
    return stateEntry(shown, shown.status.endsWith('FAILED') || (shown.status === 'CREATING' && isRefused));
  }
}

function stateEntry(
  shown: Pick<DeploymentAnswer | RevisionAnswer, 'id' | 'status_reason' | 'status_message' | 'updated_at'>,
  isFailed: boolean,
): readonly LogEntry[] {
  const { id, status_reason: reason, status_message: text, updated_at: at } = shown;
  if (text === null && reason === null) return [];
  const message = [reason, text].filter((part) => part !== null && part !== '').join(': ');
  const timestamp = lineTime(at) ?? at;
  return [
    {
      id: idOf([id, message]),
      timestamp,
      level: isFailed ? 'ERROR' : 'INFO',
      message,
      pod: null,
      container: null,
    },
  ];
}

/** A pod without that container has none of its lines. */
async function orNone(lines: Promise<readonly LogLine[]>): Promise<readonly LogLine[]> {
  try {
    return await lines;
  } catch (error) {
    if (error instanceof PublicError && error.code === 'not_found') return [];
    throw error;
  }
}

function isOfBuild({ pod, container }: LogLine): boolean {
  return BUILD_POD.test(pod) && (BUILD_CONTAINERS as readonly string[]).includes(container);
}

/** Entries by time. Equal lines of one time are told apart by their number. */
function entriesOf(lines: readonly LogLine[]): readonly LogEntry[] {
  const seen = new Map<string, number>();
  return lines
    .toSorted((a, b) => (a.time < b.time ? -1 : a.time > b.time ? 1 : 0))
    .map(({ time, pod, container, text }) => {
      const hash = idOf([pod, container, time, text]);
      const count = seen.get(hash) ?? 0;
      seen.set(hash, count + 1);
      const id = count === 0 ? hash : `${hash}.${count}`;
      return { id, timestamp: time, level: levelOf(text), message: text, pod, container };
    });
}

function idOf(parts: readonly string[]): string {
  return createHash('sha256').update(parts.join('\n')).digest('base64url').slice(0, ID_LETTERS);
}

/** The level that a line names: as a member of JSON, in words or in numbers of pino, or as a word at its beginning. */
function levelOf(text: string): Level {
  const member = text.startsWith('{') ? levelMember(text) : undefined;
  if (typeof member === 'number')
    return LEVELS[Math.max(0, Math.min(4, Math.floor(member / 10) - 2))] ?? 'INFO';
  const word = typeof member === 'string' ? member : LEVEL_WORD.exec(text.slice(0, LEVEL_LETTERS))?.[1];
  switch ((word ?? '').toUpperCase()) {
    case 'TRACE':
    case 'DEBUG':
      return 'DEBUG';
    case 'WARN':
    case 'WARNING':
      return 'WARNING';
    case 'ERROR':
      return 'ERROR';
    case 'CRITICAL':
    case 'FATAL':
      return 'CRITICAL';
    default:
      return 'INFO';
  }
}

function levelMember(text: string): unknown {
  try {
    const value = parseJson(text);
    return isJsonObject(value) ? value['level'] : undefined;
  } catch {
    return undefined;
  }
}

function pageOf(entries: readonly LogEntry[], request: LogEntriesRequest): LogEntriesAnswer {
  const limit = request.limit ?? 100;
  const after = request.offset ? parseCursor(request.offset) : undefined;
  if (request.order === 'asc') {
    const from = after ? placeAfter(entries, after) : 0;
    const logs = entries.slice(from, from + limit);
    const last = logs.at(-1);
    // a client that polls goes on from here
    return { logs, next_offset: last ? formatCursor(last) : (request.offset ?? null) };
  }
  const before = after ? placeBefore(entries, after) : entries.length;
  const logs = entries.slice(Math.max(0, before - limit), before).toReversed();
  const last = logs.at(-1);
  return { logs, next_offset: last && before > limit ? formatCursor(last) : null };
}

interface Cursor {
  readonly timestamp: string;
  readonly id: string;
}

function formatCursor({ timestamp, id }: Cursor): string {
  return Buffer.from(`${timestamp} ${id}`).toString('base64url');
}

function parseCursor(text: string): Cursor {
  const [timestamp, id, ...rest] = Buffer.from(text, 'base64url').toString('utf8').split(' ');
  if (timestamp === undefined || id === undefined || rest.length > 0)
    throw invalid([
      problem('offset', 'must be the next_offset of an answer; leave it out for the first page'),
    ]);
  return { timestamp, id };
}

/** Entries may have been dropped since: then it is found by its time. */
function placeAfter(entries: readonly LogEntry[], { timestamp, id }: Cursor): number {
  const found = entries.findLastIndex((one) => one.id === id);
  if (found !== -1) return found + 1;
  const later = entries.findIndex((one) => one.timestamp > timestamp);
  return later === -1 ? entries.length : later;
}

function placeBefore(entries: readonly LogEntry[], { timestamp, id }: Cursor): number {
  const found = entries.findIndex((one) => one.id === id);
  return found === -1 ? entries.filter((one) => one.timestamp < timestamp).length : found;
}

function isAfter(timestamp: string, until: string | undefined): boolean {
  return until !== undefined && timestamp > until;
}

/** RFC 3339, with UTC where no zone is named, or milliseconds since 1970. */
function instant(text: string | null | undefined, name: string): string | undefined {
  if (text === undefined || text === null || text === '') return undefined;
  const isNumber = /^\d{1,15}$/.test(text);
  const date = isNumber ? new Date(Number(text)) : undefined;
  const time = date
    ? Number.isNaN(date.getTime())
      ? undefined
      : lineTime(date.toISOString())
    : lineTime(text);
  const found = time ?? lineTime(`${text}Z`);
  if (found === undefined)
    throw invalid([problem(name, 'Input should be an RFC 3339 time, or milliseconds since 1970')]);
  return found;
}

function problem(name: string, msg: string): FieldProblem {
  return { loc: ['body', name], msg, type: 'value_error' };
}

/** Each of the three containers of a build is read apart. */
const READS = 3;
const REFUSES = { 404: 'There is no such deployment or revision', 429: 'Too many logs are read at once' };

/** Logs in the form that clients of control planes page through. */
@Resource('Deployments (v2)', 'v1/projects/:deployment_id')
export class LogEntriesController {
  constructor(
    private readonly entries: LogEntries,
    private readonly answers: AnswerBudget,
    private readonly places: LogPlaces,
  ) {}

  @Post('deploy_logs', READ, {
    summary: 'What the pods of a deployment print, with levels, and why it is not ready',
    answer: LogEntriesAnswer,
    refuses: REFUSES,
    config: { countsAnswer: true },
  })
  ofDeployment(
    @FromCaller() caller: Caller,
    @PathId('deployment_id') deploymentId: string,
    @Body() request: LogEntriesRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    return this.#send(caller, { deploymentId }, 'deploy', { request, reply });
  }

  @Post('revisions/:revision_id/deploy_logs', READ, {
    summary: 'What the pods of a revision print, with levels, and why it does not serve',
    answer: LogEntriesAnswer,
    refuses: REFUSES,
    config: { countsAnswer: true },
  })
  ofRevision(
    @FromCaller() caller: Caller,
    @PathId('deployment_id') deploymentId: string,
    @PathId('revision_id') revisionId: string,
    @Body() request: LogEntriesRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    return this.#send(caller, { deploymentId, revisionId }, 'deploy', { request, reply });
  }

  @Post('revisions/:revision_id/build_logs', READ, {
    summary: 'What the build of a revision prints, and why it failed or waits',
    answer: LogEntriesAnswer,
    refuses: REFUSES,
    config: { countsAnswer: true },
  })
  ofBuild(
    @FromCaller() caller: Caller,
    @PathId('deployment_id') deploymentId: string,
    @PathId('revision_id') revisionId: string,
    @Body() request: LogEntriesRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    return this.#send(caller, { deploymentId, revisionId }, 'build', { request, reply });
  }

  async #send(
    caller: Caller,
    target: LogTarget,
    kind: LogKind,
    { request, reply }: { readonly request: LogEntriesRequest; readonly reply: FastifyReply },
  ): Promise<void> {
    const leave = this.places.require(caller.tenantId).release;
    await this.answers.sendWatched(reply, caller.tenantId, leave, async ({ hold }, signal) => {
      hold(kind === 'build' ? READS * HELD_BYTES : HELD_BYTES);
      return this.entries.read({ caller, target, kind, request, signal });
    });
  }
}
