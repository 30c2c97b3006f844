import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type AuditActor, type AuditLog, type AuditRecord, shortened } from '#lib/audit-log';
import { isJsonObject, type JsonObject, parseJson } from '#lib/json';
import { REQUEST_ID_HEADER } from '#lib/telemetry';
import { OPERATOR, findCaller } from '../tenancy/caller.js';
import { routeAccess, routeName } from '../wire/route-access.js';
import { clientAddress } from '../wire/origin-of.js';
import { ignoredIn } from '../wire/speak-vocabulary.js';

const READS = new Set(['GET', 'HEAD', 'OPTIONS']);
/** Routes by which agents record data, which is not audited. */
const DATA = new Set([
  'POST /runs',
  'POST /runs/batch',
  'POST /runs/multipart',
  'POST /otel/v1/traces',
  'POST /otel/v1/metrics',
  'POST /otel/v1/logs',
  'PATCH /runs/{run_id}',
  'POST /feedback',
  'PATCH /feedback/{feedback_id}',
]);
/** Forms of pages that change the platform; threads of agents are data. */
const FORMS = new Set(
  ['share', 'unshare'].map((form) => `POST /o/{tenant_id}/projects/p/{session_id}/r/{run_id}/${form}`),
);
/**
 * Statuses of unauthenticated requests: they are counted in the metrics, and must not push out records of
 * actions.
 */
const ANONYMOUS = new Set([401, 429]);
const MAX_REASONS = 5;

/**
 * Records changes and their callers. It records when the answer is made and not when it arrives: a caller who
 * leaves at once has made the change all the same.
 */
export function auditRequests(server: FastifyInstance, audit: AuditLog | undefined): void {
  if (!audit) return;
  server.addHook('onSend', async (request, reply, payload) => {
    const route = routeName(request.method, request.routeOptions.url ?? '');
    const isForm = FORMS.has(route) && findCaller(request) !== undefined;
    const isChange = !READS.has(request.method) && mayChange(route);
    const isRecorded = (isForm || isChange) && !ANONYMOUS.has(reply.statusCode);
    if (isRecorded) record(audit, { request, reply, route, answer: parsed(payload) });
    return payload;
  });
}

/** True for routes that change the platform; routes that only read are open to keys with the scope `read`. */
function mayChange(route: string): boolean {
  const access = routeAccess().get(route);
  return access?.kind === 'key' && !DATA.has(route) && !access.scopes.includes('read');
}

interface Answered {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  /** `METHOD /path`, as in the OpenAPI document. */
  readonly route: string;
  readonly answer: JsonObject;
}

function record(audit: AuditLog, { request, reply, route, answer }: Answered): void {
  const address = clientAddress(request);
  const agent = request.headers['user-agent'];
  const reason = reasonOf(answer['detail']);
  const ignored = ignoredIn(request);
  const actor = actorOf(request);
  const recorded: AuditRecord = {
    program: 'api',
    request: String(reply.raw.getHeader(REQUEST_ID_HEADER) ?? ''),
    actor,
    action: {
      verb: request.method,
      target: route.slice(route.indexOf(' ') + 1),
      ids: idsOf(request, answer),
    },
    source: {
      ...(address === undefined ? {} : { address }),
      ...(agent === undefined ? {} : { userAgent: shortened(agent) }),
    },
    outcome: {
      status: reply.statusCode,
      ...(reason === undefined ? {} : { reason }),
      ...(ignored === '' ? {} : { ignored: shortened(ignored) }),
    },
  };
  audit.write(recorded, ownerOf(actor));
}

/**
 * Owner of the files that the record is written to. A key that opens nothing is unauthenticated, and must not
 * push out the records of others; nor must the keys of agents and of programs with few permissions.
 */
function ownerOf(actor: AuditActor): string {
  if (actor.kind === 'api-key') return actor.scope === 'workspace' ? actor.tenant : `${actor.tenant}-limited`;
  return actor.kind === 'refused-key' ? 'refused' : '';
}

function actorOf(request: FastifyRequest): AuditActor {
  const caller = findCaller(request);
  if (!caller) return { kind: 'refused-key' };
  const { tenantId: tenant, keyId: id, keyName, scope } = caller;
  if (id === OPERATOR) return { kind: 'operator-key', tenant };
  return {
    kind: 'api-key',
    id,
    scope,
    tenant,
    ...(keyName === undefined ? {} : { name: shortened(keyName) }),
    ...(caller.scope === 'deployment' ? { deployment: caller.deployment } : {}),
  };
}

/** Ids of the path, and that of the made object. */
function idsOf({ params }: FastifyRequest, answer: JsonObject): Readonly<Record<string, string>> {
  const named = isJsonObject(params) ? Object.entries(params) : [];
  const { id } = answer;
  return Object.fromEntries([
    ...named.map(([name, value]): [string, string] => [name, shortened(String(value))]),
    ...(typeof id === 'string' ? [['id', shortened(id)]] : []),
  ]) as Record<string, string>;
}

/** The problem without the values: the text for people, or the places of wrong fields. */
function reasonOf(detail: unknown): string | undefined {
  if (typeof detail === 'string') return shortened(detail);
  if (!Array.isArray(detail)) return undefined;
  const problems = detail.slice(0, MAX_REASONS).filter(isJsonObject);
  return shortened(
    problems.map(({ loc, type }) => `${[loc].flat().map(String).join('.')} ${String(type)}`).join(', '),
  );
}

function parsed(payload: unknown): JsonObject {
  if (typeof payload !== 'string') return {};
  try {
    const value: unknown = parseJson(payload);
    return isJsonObject(value) ? value : {};
  } catch {
    return {};
  }
}
