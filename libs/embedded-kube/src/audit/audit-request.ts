import { type AuditLog, type AuditRecord, shortened } from '#lib/audit-log';
import { ApiError, textAt } from '#lib/kube-semantics';
import { REQUEST_ID_HEADER } from '#lib/telemetry';
import { MASTERS, type UserInfo } from '../authn/user.js';
import type { Audit, AuditedRequest } from '../http/audited-request.js';
import type { Reply } from '../http/request-context.js';
import { auditLevel } from './audit-policy.js';

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
