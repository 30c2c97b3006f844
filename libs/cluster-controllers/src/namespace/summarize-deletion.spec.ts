import { describe, expect, it } from '@jest/globals';
import { summarizeDeletion } from './namespace-controller.js';

const none = { resources: new Map(), finalizers: new Map(), problems: [] };
const now = new Date('2026-01-02T03:04:05Z');
const messageOf = (type: string, remaining: object): string | undefined =>
  summarizeDeletion([], { ...none, ...remaining }, now).find((one) => one.type === type)?.message;

describe('summarizeDeletion', () => {
  it('counts what remains by name', () => {
    const finalizers = new Map([
      ['b.example/hold', 2],
      ['a.example/hold', 1],
    ]);
    expect(messageOf('NamespaceFinalizersRemaining', { finalizers })).toBe(
      'Some content in the namespace has finalizers remaining: a.example/hold in 1 resource instances, b.example/hold in 2 resource instances',
    );
  });

  it('names twenty, however many there are', () => {
    const finalizers = new Map(Array.from({ length: 60_000 }, (_, at) => [`example/hold-${at}`, 1]));
    const message = messageOf('NamespaceFinalizersRemaining', { finalizers });
    expect(message?.match(/example/g)).toHaveLength(20);
    expect(message).toMatch(/, and 59980 more$/);
    const problems = Array.from({ length: 25 }, (_, at) => `problem ${at}`);
    expect(messageOf('NamespaceDeletionContentFailure', { problems })).toMatch(
      /25 remaining: .*, and 5 more$/,
    );
  });
});
