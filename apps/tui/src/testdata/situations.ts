import { type Condition, REASON, type Tone } from '#lib/resources';
import { DEPLOYMENTS } from '../views/deployments.js';
import { DESTINATIONS, EXPORT_RUNS } from '../views/all-views.js';
import { EXPORTS, SCHEDULES } from '../views/exports.js';
import { LISTENERS, WORKSPACES } from '../views/platform-views.js';
import { REVISIONS } from '../views/revisions.js';
import type { View } from '../views/view.js';
import type { Item } from '../world/items.js';

type Status = Condition['status'];
type Conditions = Readonly<Record<string, readonly [Status, string]>>;

/** What the controllers write: `Ready` and the conditions that it is computed from. */
function conditionsOf(conditions: Conditions): readonly Condition[] {
  return Object.entries(conditions).map(([type, [status, reason]]) => ({
    type,
    status,
    reason,
    message: `${type} of ${reason}`,
    lastTransitionTime: '2026-05-01T00:00:00Z',
  }));
}

/** An object in a situation. */
export function itemOf(
  conditions: Conditions,
  more: { spec?: object; status?: object; metadata?: object },
): Item {
  const item = {
    metadata: { name: 'one', namespace: 'ws', ...more.metadata },
    spec: more.spec ?? {},
    status: { conditions: conditionsOf(conditions), ...more.status },
  };
  return item;
}

/** Ready alone, or with the condition that fails or completes it. */
const ready = (status: Status, reason: string): Conditions => ({ Ready: [status, reason] });
const failed = (reason: string): Conditions => ({ Failed: ['True', reason], Ready: ['False', reason] });
const active = (status: Status, reason: string, is: Status = 'True'): Conditions => ({
  Active: [is, REASON.serving],
  Ready: [status, reason],
});
const accepted = (reason: string): Conditions => ({
  Accepted: ['True', REASON.accepted],
  Ready: ['True', reason],
});
const completed: Conditions = { ...accepted(REASON.completed), Completed: ['True', REASON.completed] };

interface Situation {
  readonly spec?: object;
  readonly status?: object;
  readonly metadata?: object;
}

type Row = readonly [string, View, Conditions, string, Tone, Situation?];

const DELETING: Situation = { metadata: { deletionTimestamp: '2026-05-01T00:00:00Z' } };
const RUNS: Situation = { status: { startedAt: '2026-05-01T00:00:00Z', runs: { total: 3, running: 1 } } };
const SCHEDULE: Situation = { spec: { intervalHours: 24 } };

/** Situations that people meet, with the word and the tone that each is shown with. */
export const SITUATIONS: readonly Row[] = [
  ['a deployment that nothing has looked at', DEPLOYMENTS, {}, 'Pending', 'busy'],
  [
    'a deployment that waits for its database',
    DEPLOYMENTS,
    ready('Unknown', REASON.pending),
    'Pending',
    'busy',
  ],
  [
    'a deployment whose database server does not answer',
    DEPLOYMENTS,
    ready('False', REASON.dependencyUnavailable),
    'DependencyUnavailable',
    'busy',
  ],
  ['a deployment without a revision', DEPLOYMENTS, ready('Unknown', REASON.noRevision), 'NoRevision', 'busy'],
  ['a deployment that is built', DEPLOYMENTS, ready('Unknown', REASON.building), 'Building', 'busy'],
  [
    'a deployment that waits for a listener',
    DEPLOYMENTS,
    ready('Unknown', REASON.awaitingListener),
    'AwaitingListener',
    'busy',
  ],
  ['a deployment that comes up', DEPLOYMENTS, ready('Unknown', REASON.deploying), 'Deploying', 'busy'],
  ['a deployment that serves', DEPLOYMENTS, ready('True', REASON.ready), 'Ready', 'good'],
  ['a deployment whose pods crash', DEPLOYMENTS, ready('False', REASON.crashed), 'Crashed', 'bad'],
  [
    'a deployment whose pods crash again and again',
    DEPLOYMENTS,
    ready('False', REASON.crashLoop),
    'CrashLoop',
    'bad',
  ],
  ['a deployment without a ready pod', DEPLOYMENTS, ready('False', REASON.notReady), 'NotReady', 'bad'],
  [
    'a deployment whose image is missing',
    DEPLOYMENTS,
    ready('False', REASON.imagePullFailed),
    'ImagePullFailed',
    'bad',
  ],
  [
    'a deployment whose graph does not load',
    DEPLOYMENTS,
    ready('False', REASON.graphLoadFailed),
    'GraphLoadFailed',
    'bad',
  ],
  [
    'a deployment that asks for what does not exist',
    DEPLOYMENTS,
    ready('False', REASON.secretMissing),
    'SecretMissing',
    'bad',
  ],
  ['a deployment of a name that is taken', DEPLOYMENTS, ready('False', REASON.nameTaken), 'NameTaken', 'bad'],
  [
    'a deployment that is not supported',
    DEPLOYMENTS,
    ready('False', REASON.notSupported),
    'NotSupported',
    'bad',
  ],
  [
    'a deployment that was rolled back',
    DEPLOYMENTS,
    { RolledBack: ['True', REASON.crashLoop], ...ready('False', REASON.crashLoop) },
    'CrashLoop',
    'bad',
  ],
  ['a deployment that is suspended', DEPLOYMENTS, ready('False', REASON.suspended), 'Suspended', 'quiet'],
  ['a deployment that sleeps', DEPLOYMENTS, ready('True', REASON.asleep), 'Asleep', 'quiet'],
  ['a deployment that wakes up', DEPLOYMENTS, ready('True', REASON.waking), 'Waking', 'busy'],
  ['a deployment that is deleted', DEPLOYMENTS, ready('True', REASON.ready), 'Deleting', 'busy', DELETING],

  ['a revision that nothing has looked at', REVISIONS, {}, 'Pending', 'busy'],
  [
    'a revision that waits for its build',
    REVISIONS,
    { Built: ['Unknown', REASON.buildQueued], ...ready('Unknown', REASON.buildQueued) },
    'BuildQueued',
    'busy',
  ],
  [
    'a revision that is built',
    REVISIONS,
    { Built: ['Unknown', REASON.building], ...ready('Unknown', REASON.building) },
    'Building',
    'busy',
  ],
  [
    'a revision whose build failed',
    REVISIONS,
    { Built: ['False', REASON.buildFailed], ...ready('False', REASON.buildFailed) },
    'BuildFailed',
    'bad',
  ],
  [
    'a revision whose ref does not exist',
    REVISIONS,
    { Built: ['False', REASON.refNotFound], ...ready('False', REASON.refNotFound) },
    'RefNotFound',
    'bad',
  ],
  ['a revision that comes up', REVISIONS, ready('False', REASON.deploying), 'Deploying', 'busy'],
  ['a revision that serves', REVISIONS, active('True', REASON.serving), 'Serving', 'good'],
  [
    'a revision that serves while its pod crashes',
    REVISIONS,
    active('False', REASON.crashLoop),
    'CrashLoop',
    'bad',
  ],
  [
    'a revision that serves without a ready pod',
    REVISIONS,
    active('False', REASON.notReady),
    'NotReady',
    'bad',
  ],
  ['a revision that sleeps', REVISIONS, active('True', REASON.asleep), 'Asleep', 'quiet'],
  ['a revision that was replaced', REVISIONS, active('False', REASON.replaced, 'False'), 'Replaced', 'quiet'],
  ['a revision that never got ready', REVISIONS, failed(REASON.readinessTimeout), 'ReadinessTimeout', 'bad'],
  ['a revision whose pod is refused', REVISIONS, failed(REASON.podRefused), 'PodRefused', 'bad'],
  [
    'a revision that failed after it took over',
    REVISIONS,
    { Active: ['False', REASON.rolledBack], ...failed(REASON.crashLoop) },
    'CrashLoop',
    'bad',
  ],
  [
    'a revision that a newer one overtook',
    REVISIONS,
    { Superseded: ['True', REASON.newerRevision], ...ready('False', REASON.newerRevision) },
    'NewerRevision',
    'quiet',
  ],
  [
    'a revision of a suspended deployment',
    REVISIONS,
    active('False', REASON.suspended),
    'Suspended',
    'quiet',
  ],

  ['an export that nothing has looked at', EXPORTS, {}, 'Pending', 'busy'],
  ['an export that waits for its turn', EXPORTS, accepted(REASON.queued), 'Queued', 'busy'],
  [
    'an export whose window has not ended',
    EXPORTS,
    accepted(REASON.waitingForWindow),
    'WaitingForWindow',
    'busy',
  ],
  ['an export that runs', EXPORTS, accepted(REASON.started), 'Started', 'busy', RUNS],
  ['an export that is completed', EXPORTS, completed, 'Completed', 'good'],
  ['an export of which a run failed', EXPORTS, failed(REASON.runFailed), 'RunFailed', 'bad'],
  ['an export that took too long', EXPORTS, failed(REASON.timedOut), 'TimedOut', 'bad'],
  ['an export that was cancelled', EXPORTS, failed(REASON.cancelled), 'Cancelled', 'quiet'],
  [
    'an export without a destination',
    EXPORTS,
    { Accepted: ['False', REASON.destinationMissing], ...ready('False', REASON.destinationMissing) },
    'DestinationMissing',
    'bad',
  ],
  ['an export that the plan does not allow', EXPORTS, failed(REASON.planNotAllowed), 'PlanNotAllowed', 'bad'],
  ['an export with a wrong filter', EXPORTS, failed(REASON.invalidFilter), 'InvalidFilter', 'bad'],
  [
    'an export that is suspended',
    EXPORTS,
    { Running: ['False', REASON.suspended], ...accepted(REASON.suspended) },
    'Suspended',
    'quiet',
    RUNS,
  ],
  [
    'an export whose runs lack credentials',
    EXPORTS,
    { Running: ['False', REASON.credentialsMissing], ...ready('False', REASON.credentialsMissing) },
    'CredentialsMissing',
    'bad',
    RUNS,
  ],
  ['an export that is deleted', EXPORTS, completed, 'Deleting', 'busy', DELETING],

  [
    'a schedule that waits for its next window',
    SCHEDULES,
    accepted(REASON.scheduled),
    'Scheduled',
    'good',
    SCHEDULE,
  ],
  ['a schedule that is behind', SCHEDULES, accepted(REASON.catchingUp), 'CatchingUp', 'busy', SCHEDULE],
  ['a schedule that is paused', SCHEDULES, accepted(REASON.suspended), 'Suspended', 'quiet', SCHEDULE],

  ['a run that nothing has looked at', EXPORT_RUNS, {}, 'Pending', 'busy'],
  ['a run that waits for its turn', EXPORT_RUNS, ready('False', REASON.queued), 'Queued', 'busy'],
  [
    'a run that waits for a place of the platform',
    EXPORT_RUNS,
    ready('False', REASON.awaitingPlace),
    'AwaitingPlace',
    'busy',
  ],
  [
    'a run that runs',
    EXPORT_RUNS,
    { Running: ['True', REASON.started], ...ready('True', REASON.started) },
    'Started',
    'busy',
  ],
  [
    'a run that is tried again',
    EXPORT_RUNS,
    { Running: ['True', REASON.retrying], ...ready('True', REASON.retrying) },
    'Retrying',
    'busy',
  ],
  [
    'a run that is completed',
    EXPORT_RUNS,
    { Completed: ['True', REASON.completed], ...ready('True', REASON.completed) },
    'Completed',
    'good',
  ],
  ['a run whose attempts all failed', EXPORT_RUNS, failed(REASON.attemptFailed), 'AttemptFailed', 'bad'],
  ['a run whose store failed', EXPORT_RUNS, failed(REASON.storageFailed), 'StorageFailed', 'bad'],
  ['a run that took too long', EXPORT_RUNS, failed(REASON.timedOut), 'TimedOut', 'bad'],
  ['a run that was cancelled', EXPORT_RUNS, failed(REASON.cancelled), 'Cancelled', 'quiet'],

  ['a destination that can be used', DESTINATIONS, ready('True', REASON.usable), 'Usable', 'good'],
  ['a destination that the store refuses', DESTINATIONS, ready('False', REASON.refused), 'Refused', 'bad'],
  [
    'a destination that does not answer',
    DESTINATIONS,
    ready('False', REASON.unreachable),
    'Unreachable',
    'bad',
  ],
  [
    'a destination without credentials',
    DESTINATIONS,
    ready('False', REASON.credentialsMissing),
    'CredentialsMissing',
    'bad',
  ],
  ['a listener that is heard of', LISTENERS, ready('True', REASON.ready), 'Ready', 'good'],
  ['a listener that is silent', LISTENERS, ready('False', REASON.noHeartbeat), 'NoHeartbeat', 'bad'],
  ['a workspace that is ready', WORKSPACES, ready('True', REASON.ready), 'Ready', 'good'],
  [
    'a workspace of a taken namespace',
    WORKSPACES,
    ready('False', REASON.namespaceTaken),
    'NamespaceTaken',
    'bad',
  ],
];
