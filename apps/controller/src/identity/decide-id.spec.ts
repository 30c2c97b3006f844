import { ANNOTATION } from '#lib/resources';
import { decideId, derivedUuid } from './decide-id.js';

const A = '00000000-0000-4000-8000-00000000000a';
const B = '00000000-0000-4000-8000-00000000000b';
const CHOSEN = '11111111-1111-4111-8111-111111111111';

function object(uid: string, created: string, id?: string) {
  return {
    metadata: {
      name: uid,
      uid,
      creationTimestamp: created,
      ...(id === undefined ? {} : { annotations: { [ANNOTATION.id]: id } }),
    },
  };
}

describe('decideId', () => {
  const older = object(A, '2026-01-01T00:00:00Z', CHOSEN);
  const younger = object(B, '2026-01-02T00:00:00Z', CHOSEN);
  const keeper = { ...object(B, '2026-01-02T00:00:00Z'), status: { id: CHOSEN } };
  const claimer = { ...object(B, '2025-01-01T00:00:00Z', CHOSEN), status: { id: B } };
  it.each([
    ['assigns the uid to an object without an id', object(A, '2026-01-01T00:00:00Z'), [], A],
    ['keeps a chosen id', older, [older], undefined],
    ['replaces an id that is no uuid', object(A, '2026-01-01T00:00:00Z', 'x'), [], A],
    ['keeps the id of the older of two', older, [older, younger], undefined],
    ['assigns the uid to the younger of two with one id', younger, [older, younger], B],
    [
      'assigns the uid while an object with the id is being deleted',
      older,
      [older, { metadata: { ...younger.metadata, deletionTimestamp: '2026-01-03T00:00:00Z' } }],
      A,
    ],
    ['restores the id of the status', { ...older, status: { id: B } }, [older], B],
    ['keeps the id of the status', { ...older, status: { id: CHOSEN } }, [older, younger], undefined],
    ['assigns the uid to one that names the id of another status', older, [older, keeper], A],
    ['keeps an id that another has in its annotation alone', older, [older, claimer], undefined],
  ])('%s', (_, one, all, expected) => {
    expect(decideId(one, all)).toBe(expected);
  });
});

describe('derivedUuid', () => {
  it('derives a uuid, the same for the same words only', () => {
    expect(derivedUuid('a', 1)).toMatch(
      /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    );
    expect(derivedUuid('a', 1)).toBe(derivedUuid('a', 1));
    expect(derivedUuid('a', 1)).not.toBe(derivedUuid('a', 2));
    expect(derivedUuid('a', 'b')).not.toBe(derivedUuid('ab'));
  });
});
