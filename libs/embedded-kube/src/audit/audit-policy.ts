import { RESOURCES } from '#lib/resources';
import { ANONYMOUS, type UserInfo } from '../authn/user.js';
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
export function auditLevel(info: RequestInfo, user: UserInfo): AuditLevel {
  return RULES.find(({ matches }) => matches(info, user))?.level ?? 'None';
}
