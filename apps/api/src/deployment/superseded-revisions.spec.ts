import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { type AgentDeployment, ANNOTATION } from '#lib/resources';
import { supersededRevisions } from './superseded-revisions.js';

const skipped = () => ({
  id: randomUUID(),
  at: '2026-11-22T10:00:00Z',
  sourceRevisionConfig: { imageUri: 'a' },
});
const read = (kept: unknown): readonly unknown[] =>
  supersededRevisions({
    metadata: { name: 'd', annotations: { [ANNOTATION.supersededRevisions]: JSON.stringify(kept) } },
  } as unknown as AgentDeployment);

describe('revisions that were skipped', () => {
  it('keeps those that this program wrote', () => {
    const kept = [skipped(), { id: randomUUID(), sourceRevisionConfig: {} }];
    expect(read(kept)).toEqual(kept);
  });

  it.each<[string, object]>([
    ['no object', [skipped()]],
    ['an id that is not one', { ...skipped(), id: 'x'.repeat(1000) }],
    ['a time that is not text', { ...skipped(), at: { a: 1 } }],
    ['no configuration', { id: randomUUID() }],
    ['a configuration with other fields', { ...skipped(), sourceRevisionConfig: { other: 'a' } }],
    [
      'a configuration with values that are not text',
      { ...skipped(), sourceRevisionConfig: { imageUri: [1] } },
    ],
  ])('leaves out what people wrote: %s', (_title, written) => {
    const good = skipped();
    expect(read([written, good])).toEqual([good]);
  });

  it('looks at twenty and no more', () => {
    const many = Array.from({ length: 50 }, skipped);
    expect(read(many)).toEqual(many.slice(0, 20));
  });
});
