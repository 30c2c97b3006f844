import { randomUUID } from 'node:crypto';
import type { NewFeedback } from '#lib/trace-store';

/** Feedback number `n` of a run, of every kind in turn. */
export function judgement(runId: string, n: number): NewFeedback {
  const value = ['"good"', '{"a": [1, "é"]}', undefined, 'false', '12.5'][n % 5];
  const score = [undefined, 0.1 + n / 7, true, -1e-9, 3][n % 5];
  return {
    id: randomUUID(),
    runId,
    traceId: undefined,
    projectId: undefined,
    startTime: undefined,
    createdAt: undefined,
    key: `key ${n % 3}`,
    score,
    value,
    correction: n % 2 === 0 ? '{"answer":\n"no"}' : undefined,
    comment: n % 3 === 0 ? '"a"\n' : undefined,
    source: '{"type":"api"}',
    config: undefined,
    extra: n % 4 === 0 ? '{}' : undefined,
    isError: n % 2 === 0 ? true : undefined,
    extendsRetention: false,
    comparativeExperimentId: undefined,
    feedbackGroupId: n % 2 === 0 ? randomUUID() : undefined,
    place: [],
  };
}
