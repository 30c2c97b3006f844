import { PublicError } from '#lib/errors';
import { troubleOf } from './graph-host.js';

const LONG = 'a'.repeat(17_000_000);

describe('troubleOf', () => {
  it.each([
    ['words for a caller', new PublicError('bad_request', LONG)],
    ['an error with its stack', new Error(LONG)],
    ['a refusal of the database', Object.assign(new Error(LONG), { code: '22P02' })],
    ['a text', LONG],
  ])('cuts %s', (_title, error) => {
    expect(JSON.stringify(troubleOf(error)).length).toBeLessThan(40_000);
  });
});
