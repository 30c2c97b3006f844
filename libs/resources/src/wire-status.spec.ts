import type { Condition } from './generated/shared.js';
import {
  deploymentWireStatus,
  exportRunWireStatus,
  exportWireStatus,
  revisionWireStatus,
} from './wire-status.js';

/** `Ready`, `!Ready`, `?Ready`, each with `:Reason`. */
function conditions(...words: string[]): readonly Condition[] {
  return words.map((word) => {
    const [, mark, type = '', reason = 'Because'] = /^([!?]?)(\w+)(?::(\w+))?$/.exec(word) ?? [];
    const status = mark === '!' ? 'False' : mark === '?' ? 'Unknown' : 'True';
    return { type, status, reason, message: 'm', lastTransitionTime: '2026-01-01T00:00:00Z' };
  });
}

describe('deploymentWireStatus', () => {
  const metadata = { name: 'a' };
  it.each([
    ['without a database it waits for one', metadata, {}, [], 'AWAITING_DATABASE'],
    [
      'with a database it is ready, whatever its revisions',
      metadata,
      {},
      ['DatabaseReady', '!Ready'],
      'READY',
    ],
    ['suspended it is unused', metadata, { suspend: true }, ['DatabaseReady'], 'UNUSED'],
    ['its listener is silent', metadata, {}, ['DatabaseReady', '?Ready:NoHeartbeat'], 'UNKNOWN'],
    ['it is on its way', metadata, {}, ['DatabaseReady', '?Ready:Deploying'], 'READY'],
    [
      'suspended it is unused, also with a silent listener',
      metadata,
      { suspend: true },
      ['DatabaseReady', '?Ready:NoHeartbeat'],
      'UNUSED',
    ],
    [
      'deletion comes before all',
      { name: 'a', deletionTimestamp: 'now' },
      { suspend: true },
      ['DatabaseReady'],
      'AWAITING_DELETE',
    ],
  ])('%s', (_, meta, spec, words, expected) => {
    const status = { conditions: conditions(...words) };
    expect(deploymentWireStatus({ metadata: meta, spec, status })).toBe(expected);
  });
});

describe('revisionWireStatus', () => {
  it.each([
    ['nothing is known: creating', [], 'CREATING'],
    ['the build is not decided: creating', ['?Built'], 'CREATING'],
    ['the build failed', ['!Built:BuildFailed'], 'BUILD_FAILED'],
    ['the build waits for a place', ['?Built:BuildQueued'], 'QUEUED'],
    ['the build has a place', ['?Built:AwaitingBuild'], 'AWAITING_BUILD'],
    ['the build is on its way', ['?Built:Building'], 'BUILDING'],
    ['there is nothing that it could repeat', ['!Built:RevisionMissing'], 'CREATE_FAILED'],
    ['built, and the listener has not begun', ['Built'], 'AWAITING_DEPLOY'],
    ['its workloads are on their way', ['Built', '!WorkloadsReady', '!Ready'], 'DEPLOYING'],
    ['it is ready', ['Built', 'WorkloadsReady', 'Active', 'Ready'], 'DEPLOYED'],
    ['it was active once', ['Built', '!WorkloadsReady', '!Active', '!Ready'], 'DEPLOYED'],
    ['it failed', ['Built', '!WorkloadsReady', 'Failed', '!Ready'], 'DEPLOY_FAILED'],
    ['a person stopped it on its way', ['Built', '!WorkloadsReady', '!Ready:Suspended'], 'INTERRUPTED'],
    [
      'it served before a person stopped it',
      ['Built', '!WorkloadsReady', 'Active', '!Ready:Suspended'],
      'DEPLOYED',
    ],
    ['a newer one came first', ['Built', 'Superseded', '!Ready'], 'SKIPPED'],
  ])('%s', (_, words, expected) => {
    expect(revisionWireStatus({ status: { conditions: conditions(...words) } })).toBe(expected);
  });
});

describe('exportWireStatus', () => {
  it.each([
    ['nothing is known', {}, [], {}, 'CREATED'],
    ['it is accepted, and all its runs wait', {}, ['Accepted'], {}, 'CREATED'],
    ['a run began', {}, ['Accepted'], { startedAt: '2026-01-01T00:00:00Z' }, 'RUNNING'],
    ['its schedule is live', { intervalHours: 1 }, ['Accepted'], {}, 'RUNNING'],
    ['it was asked to end', { cancel: true }, ['Accepted'], { startedAt: 'x' }, 'CANCELLED'],
    ['it completed before it was asked to end', { cancel: true }, ['Completed'], {}, 'COMPLETED'],
    ['it completed', {}, ['Completed'], {}, 'COMPLETED'],
    ['it failed', {}, ['Failed:RunFailed'], {}, 'FAILED'],
    ['it was cancelled', {}, ['Failed:Cancelled'], {}, 'CANCELLED'],
    ['it took too long', {}, ['Failed:TimedOut'], {}, 'TIMEDOUT'],
  ])('shows the status of an export when %s', (_, spec, words, more, expected) => {
    expect(exportWireStatus({ spec, status: { ...more, conditions: conditions(...words) } })).toBe(expected);
  });

  it.each([
    ['nothing is known', 0, [], 'CREATED'],
    ['a run is queued', 0, ['!Running:Queued', '!Ready:Queued'], 'CREATED'],
    ['a run has no credentials to begin with', 0, ['!Running:CredentialsMissing'], 'CREATED'],
    ['a run is in progress', 1, ['Running:Started'], 'RUNNING'],
    ['a run waits for its next attempt', 1, ['Running:Retrying'], 'RUNNING'],
    ['a run has no credentials to go on with', 1, ['!Running:CredentialsMissing'], 'RUNNING'],
    ['a run completed', 1, ['!Running:Completed', 'Completed'], 'COMPLETED'],
    ['a run was cancelled before it began', 0, ['!Running:Cancelled', 'Failed:Cancelled'], 'CANCELLED'],
    ['a run took too long', 1, ['!Running:TimedOut', 'Failed:TimedOut'], 'TIMEDOUT'],
  ])('shows the status of a run when %s', (_, attempt, words, expected) => {
    expect(exportRunWireStatus({ status: { attempt, conditions: conditions(...words) } })).toBe(expected);
  });
});
