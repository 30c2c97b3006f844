import { TerminalError } from '#lib/errors';
import type { Condition, ConditionDraft } from '#lib/resources';
import { failedPass } from './failed-pass.js';

const PROJECT: ConditionDraft = { type: 'TracingProjectReady', status: 'True', reason: 'R', message: '' };
const was = (...types: string[]): Condition[] =>
  types.map((type) => ({ type, status: 'True', reason: 'R', message: '', lastTransitionTime: '' }));
const BROKEN = new Error('connect ECONNREFUSED 10.0.0.1');
const NOT_OURS = new TerminalError('NotOurs', 'Secret x belongs to somebody else');

interface Row {
  readonly found: readonly ConditionDraft[];
  readonly before: readonly Condition[];
  readonly error: Error;
  readonly said: readonly string[];
  readonly keeps: readonly string[];
}

describe('failedPass', () => {
  it.each<[string, Row]>([
    [
      'does not know yet what a new deployment is',
      {
        found: [],
        before: [],
        error: BROKEN,
        said: ['TracingProjectReady=Unknown Progressing'],
        keeps: ['DatabaseReady', 'RevisionReady'],
      },
    ],
    [
      'makes nothing untrue because of an error',
      {
        found: [PROJECT],
        before: was('DatabaseReady', 'RevisionReady'),
        error: BROKEN,
        said: ['TracingProjectReady=True R'],
        keeps: ['DatabaseReady', 'RevisionReady'],
      },
    ],
    [
      'says what somebody must change',
      {
        found: [PROJECT],
        before: was('DatabaseReady', 'RevisionReady'),
        error: NOT_OURS,
        said: ['TracingProjectReady=True R', 'DatabaseReady=False NotOurs'],
        keeps: ['RevisionReady'],
      },
    ],
  ])('%s', (_, { found, before, error, said, keeps }) => {
    const pass = failedPass(found, before, error);
    expect(pass.conditions.map(({ type, status, reason }) => `${type}=${status} ${reason}`)).toEqual(said);
    expect([pass.keeps, pass.isHandled]).toEqual([keeps, error === NOT_OURS]);
    expect(JSON.stringify(pass)).not.toContain('10.0.0.1');
  });
});
