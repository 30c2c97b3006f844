import { type AuditLog, type AuditRecord, shortened } from '#lib/audit-log';
import { ApiError, textAt } from '#lib/kube-semantics';
import { RESOURCES } from '#lib/resources';
import { REQUEST_ID_HEADER } from '#lib/telemetry';
import { ANONYMOUS, MASTERS, type UserInfo } from '../authn/user.js';
import type { Audit, AuditedRequest } from '../http/audited-request.js';
import type { Reply } from '../http/request-context.js';
import type { RequestInfo } from '../http/request-info.js';

/** Levels of Kubernetes' audit policy: nothing, or the user, the verb and the object, without bodies. */
export type AuditLevel = 'None' | 'Metadata';

const WRITES = new Set(['create', 'update', 'patch', 'delete', 'deletecollection']);
/** Questions that are asked by POST. */
const REVIEWS = new Set(['authentication.k8s.io', 'authorization.k8s.io']);

interface Rule {
  readonly level: AuditLevel;
  readonly matches: (info: RequestInfo, user: UserInfo) => boolean;
}

/** The first rule that matches decides. Documented in docs/reference/audit-log.md. */
const RULES: readonly Rule[] = [
  { level: 'None', matches: ({ isResource, verb }) => !isResource || !WRITES.has(verb) },
  // refused, and no one is known: such requests must not push out what was done
  { level: 'None', matches: (_info, { username }) => username === ANONYMOUS.username },
  { level: 'None', matches: ({ group }) => REVIEWS.has(group) },
  {
    level: 'None',
    matches: ({ resource, group }) => resource === 'leases' && group === 'coordination.k8s.io',
  },
  {
    level: 'None',
    matches: ({ resource, group }) => resource === 'events' && (group === '' || group === 'events.k8s.io'),
  },
  // status is what programs report; a person who writes it is worth a line
  {
    level: 'None',
    matches: ({ subresource, group }, { username }) => subresource === 'status' && isProgram(username, group),
  },
  { level: 'Metadata', matches: () => true },
];

/** A workspace's own service account may change labels with a status; of the platform's kinds only its listener may. */
function isProgram(username: string, group: string): boolean {
  if (!username.startsWith('system:')) return false;
  const isOfWorkspace =
    username.startsWith('system:serviceaccount:') &&
    !username.startsWith('system:serviceaccount:agentplane-system:');
  return !isOfWorkspace || group === RESOURCES.AgentRevision.group;
}

/** Level at which a request is recorded. */
function auditLevel(info: RequestInfo, user: UserInfo): AuditLevel {
  return RULES.find(({ matches }) => matches(info, user))?.level ?? 'None';
}

const OWN_NAMESPACES: ReadonlySet<string> = new Set(['agentplane-system', 'kube-system']);

/** Records in this log; without one, nothing. */
export function auditIn(log: AuditLog | undefined): Audit {
  return async (audited, work) => {
    if (!log || auditLevel(audited.info, audited.user) === 'None') return work();
    // a request whose body was refused has lost its socket by then
    const address = audited.request.socket.remoteAddress;
    try {
      const reply = await work();
      record(log, audited, { address, result: reply });
      return reply;
    } catch (error) {
      record(log, audited, { address, result: error });
      throw error;
    }
  };
}

interface Answered {
  readonly address: string | undefined;
  /** Result of the request, or the error. */
  readonly result: unknown;
}

function record(log: AuditLog, audited: AuditedRequest, { address, result }: Answered): void {
  const { request, response, info, user, isDryRun } = audited;
  const { group, resource, subresource, namespace } = info;
  const named = group === '' ? resource : `${resource}.${group}`;
  const impersonates = request.headers['impersonate-user'];
  const agent = request.headers['user-agent'];
  const name = info.name === '' ? nameOf(result) : info.name;
  const recorded: AuditRecord = {
    program: 'kubernetes',
    request: String(response.getHeader(REQUEST_ID_HEADER) ?? ''),
    actor: {
      kind: 'kubernetes',
      user: shortened(user.username),
      groups: user.groups.map(shortened),
      ...(typeof impersonates === 'string' ? { impersonates: shortened(impersonates) } : {}),
    },
    action: {
      verb: info.verb,
      target: shortened(subresource === '' ? named : `${named}/${subresource}`),
      ...(namespace === '' ? {} : { namespace: shortened(namespace) }),
      ...(name === '' ? {} : { name: shortened(name) }),
      ...(isDryRun ? { isDryRun } : {}),
    },
    source: {
      ...(address === undefined ? {} : { address }),
      ...(agent === undefined ? {} : { userAgent: shortened(agent) }),
    },
    outcome: outcomeOf(result),
  };
  log.write(recorded, ownerOf(user));
}

/**
 * Owner of the record's files: that of the caller, never of the namespace that was named, which may be
 * another's. Service accounts of a workspace count as the workspace, people as themselves; the rest is the
 * platform and the cluster.
 */
function ownerOf({ username, groups }: UserInfo): string {
  if (groups.includes(MASTERS)) return '';
  const namespace = /^system:serviceaccount:([^:]+):/.exec(username)?.[1];
  if (namespace !== undefined) return OWN_NAMESPACES.has(namespace) ? '' : namespace;
  return username.startsWith('system:') ? '' : `user:${username}`;
}

function isReply(result: unknown): result is Reply {
  return typeof result === 'object' && result !== null && 'kind' in result && 'code' in result;
}

function outcomeOf(result: unknown): { readonly status: number; readonly reason?: string } {
  if (result instanceof ApiError) return { status: result.code, reason: result.reason };
  return isReply(result) ? { status: result.code } : { status: 500, reason: 'InternalError' };
}

/** The name of an object that was just made: it may have been chosen by the server. */
function nameOf(result: unknown): string {
  if (!isReply(result) || result.kind !== 'json') return '';
  const { body } = result;
  try {
    return textAt(typeof body === 'string' ? (JSON.parse(body) as unknown) : body, ['metadata', 'name']);
  } catch {
    return '';
  }
}
