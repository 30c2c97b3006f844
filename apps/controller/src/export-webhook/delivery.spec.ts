import { describe, expect, it } from '@jest/globals';
import { ANNOTATION, type BulkExport } from '#lib/resources';
import { beyondOpen, isHeld } from './decide-webhook.js';

interface Shape {
  readonly secret?: string;
  readonly owns?: string;
  readonly endedAt?: string;
  readonly delivered?: 'True' | 'False';
}

function anExport(name: string, { secret, owns, endedAt, delivered }: Shape = {}): BulkExport {
  return {
    metadata: { name, uid: name, annotations: owns ? { [ANNOTATION.webhookSecret]: owns } : {} },
    spec: {
      webhook: { url: 'https://receiver.example/', ...(secret ? { secretRef: { name: secret } } : {}) },
    },
    status: {
      ...(endedAt ? { finishedAt: endedAt } : {}),
      conditions: [
        ...(endedAt ? [{ type: 'Completed', status: 'True' }] : []),
        ...(delivered ? [{ type: 'WebhookDelivered', status: delivered }] : []),
      ],
    },
  } as unknown as BulkExport;
}

const DELIVERED = { endedAt: '2026-06-01T00:00:00Z', delivered: 'True' } as const;

describe('isHeld', () => {
  it.each<[string, Shape, Shape, boolean]>([
    ['holds an export whose webhook is open', { endedAt: DELIVERED.endedAt }, DELIVERED, true],
    ['lets one go that was delivered', DELIVERED, DELIVERED, false],
    ['lets one go that was given up', { ...DELIVERED, delivered: 'False' }, DELIVERED, false],
    [
      'holds the owner of a Secret that an unfinished export names',
      { ...DELIVERED, owns: 's' },
      { secret: 's' },
      true,
    ],
    [
      'holds the owner of a Secret that an open webhook needs',
      { ...DELIVERED, owns: 's' },
      { secret: 's', endedAt: DELIVERED.endedAt },
      true,
    ],
    [
      'lets the owner go once nothing needs its Secret',
      { ...DELIVERED, owns: 's' },
      { secret: 's', ...DELIVERED },
      false,
    ],
    ['lets go what only names the Secret', { ...DELIVERED, secret: 's' }, { secret: 's' }, false],
  ])('%s', (_name, own, other, expected) => {
    const bulkExport = anExport('own', own);
    expect(isHeld(bulkExport, [bulkExport, anExport('other', other)])).toBe(expected);
  });
});

describe('beyondOpen', () => {
  it('names the oldest open ones beyond the bound', () => {
    const ended = (day: number): Shape => ({ endedAt: `2026-06-0${day}T00:00:00Z` });
    const all = [anExport('new', ended(3)), anExport('old', ended(1)), anExport('middle', ended(2))];
    const others = [anExport('unfinished'), anExport('delivered', DELIVERED)];
    expect(beyondOpen([...all, ...others], 1).map(({ metadata }) => metadata.name)).toEqual([
      'old',
      'middle',
    ]);
  });
});
