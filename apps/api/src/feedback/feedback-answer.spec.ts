import { describe, expect, it } from '@jest/globals';
import { heldBytes, renderFeedback } from './feedback-controller.js';

const document = JSON.stringify({ text: 'é'.repeat(8_000) });
const FEEDBACK = {
  id: 'x',
  key: 'k',
  createdAt: 0n,
  modifiedAt: 0n,
  comment: 'é'.repeat(10_000),
  value: document,
  correction: document,
  source: document,
  config: document,
  extra: document,
  runId: undefined,
  traceId: undefined,
  projectId: undefined,
  startTime: undefined,
  score: 1,
  isError: undefined,
  extendsRetention: undefined,
  comparativeExperimentId: undefined,
  feedbackGroupId: undefined,
};

describe('what a list of feedback holds', () => {
  it('covers its rows and the text of the answer', () => {
    const bytes = Buffer.byteLength(renderFeedback(FEEDBACK));
    expect(heldBytes([FEEDBACK, FEEDBACK])).toBeGreaterThan(2 * 2 * bytes - 4_000);
    expect(heldBytes([])).toBe(0);
  });
});
