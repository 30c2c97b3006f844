import { describe, expect, it } from '@jest/globals';
import type { BulkExport, WebhookDelivery } from '#lib/resources';
import { decideWebhook, type WebhookWorld } from './decide-webhook.js';

const NOW = Date.parse('2026-06-01T00:00:00Z');
const HOUR_MS = 3_600_000;
const at = (ms: number): string => new Date(NOW + ms).toISOString();

interface Shape {
  readonly webhook?: WebhookDelivery;
  readonly delivered?: 'True' | 'False' | 'Unknown';
  readonly running?: number;
  readonly endedMs?: number;
  readonly hasEnded?: boolean;
  readonly isSchedule?: boolean;
  readonly hasWebhook?: boolean;
}

function anExport(shape: Shape = {}): BulkExport {
  const { webhook, delivered, running = 0, endedMs = -1_000, hasEnded = true } = shape;
  return {
    metadata: { name: 'x', uid: 'x' },
    spec: {
      ...(shape.isSchedule ? { intervalHours: 1 } : {}),
      ...(shape.hasWebhook === false ? {} : { webhook: { url: 'https://receiver.example/' } }),
    },
    status: {
      runs: { created: 0, running },
      ...(hasEnded ? { finishedAt: at(endedMs) } : {}),
      conditions: [
        ...(hasEnded ? [{ type: 'Completed', status: 'True' }] : []),
        ...(delivered ? [{ type: 'WebhookDelivered', status: delivered }] : []),
      ],
      ...(webhook ? { webhook } : {}),
    },
  } as unknown as BulkExport;
}

function decide(bulkExport: BulkExport, more: Partial<WebhookWorld> = {}): string {
  const base = { isUnderWay: false, outcome: undefined, isPushedOut: false, now: new Date(NOW) };
  const decision = decideWebhook({ bulkExport, ...base, ...more });
  switch (decision.kind) {
    case 'later':
      return `later ${decision.ms}`;
    case 'attempt':
      return `attempt ${decision.attempt}`;
    case 'again':
      return `again at ${decision.at.getTime() - NOW}: ${decision.error}`;
    case 'giveUp':
      return `give up: ${decision.error}`;
    case 'delivered':
    case 'keep':
      return decision.kind;
    default:
      return decision satisfies never;
  }
}

const began = (ms: number, attempts = 1): WebhookDelivery => ({
  attempts,
  firstAttemptAt: at(ms),
  lastAttemptAt: at(ms),
});
const refused = (attempt: number, isFinal = false) => ({
  outcome: { attempt, pauseMs: 2_000, answer: { kind: 'refused', why: 'answered 500', isFinal } as const },
});

describe('decideWebhook', () => {
  it.each<[string, Shape, Partial<WebhookWorld>, string]>([
    ['calls at the end', {}, {}, 'attempt 1'],
    ['calls nothing without a webhook', { hasWebhook: false }, {}, 'keep'],
    ['calls nothing for a schedule', { isSchedule: true }, {}, 'keep'],
    ['waits for the end', { hasEnded: false }, {}, 'keep'],
    ['waits for runs that end after the export', { running: 1 }, {}, 'later 59000'],
    ['waits a minute for them', { running: 1, endedMs: -60_000 }, {}, 'attempt 1'],
    ['waits for the call that is under way', { webhook: began(-1_000) }, { isUnderWay: true }, 'keep'],
    ['waits for a call that another program may be making', { webhook: began(-1_000) }, {}, 'later 14000'],
    ['repeats a call that has no outcome', { webhook: began(-15_000) }, {}, 'attempt 2'],
    [
      'gives up calls that never have an outcome',
      { webhook: began(-25 * HOUR_MS) },
      {},
      'give up: no call came to an end',
    ],
    [
      'is done once a call was accepted',
      { webhook: began(-1_000) },
      { outcome: { attempt: 1, pauseMs: 2_000, answer: { kind: 'accepted' } } },
      'delivered',
    ],
    [
      'pauses after a call that was refused',
      { webhook: began(-1_000) },
      refused(1),
      'again at 2000: answered 500',
    ],
    [
      'leaves the outcome of an earlier attempt alone',
      { webhook: began(-1_000, 2) },
      { ...refused(1), isUnderWay: true },
      'keep',
    ],
    [
      'waits for the next attempt',
      { webhook: { ...began(-1_000), nextAttemptAt: at(500) } },
      {},
      'later 500',
    ],
    [
      'makes the next attempt, however late it is',
      { webhook: { ...began(-99 * HOUR_MS), nextAttemptAt: at(-90 * HOUR_MS) } },
      {},
      'attempt 2',
    ],
    [
      'gives up a day after the first attempt',
      { webhook: began(-24 * HOUR_MS) },
      refused(1),
      'give up: answered 500',
    ],
    [
      'gives up at once where it is final',
      { webhook: began(-1_000) },
      refused(1, true),
      'give up: answered 500',
    ],
    ['calls nothing once it was delivered', { delivered: 'True' }, {}, 'keep'],
    ['calls nothing once it was given up', { delivered: 'False' }, {}, 'keep'],
    [
      'gives up where too many are open',
      { webhook: { ...began(-1_000), nextAttemptAt: at(500) } },
      { isPushedOut: true },
      'give up: too many webhooks of the workspace are open, and this one is the oldest',
    ],
  ])('%s', (_name, shape, more, expected) => expect(decide(anExport(shape), more)).toBe(expected));
});
