import type { ServerResponse } from 'node:http';
import { protectAnswer } from './protect-answer.js';

const RETRY = { 'retry-after': '1' };

/**
 * Answers `{"detail": …}` without a framework. A 503 without a code may be retried at once; an answer whose
 * head is sent already can only be cut.
 * @param more members beside the detail, for clients that read others
 */
export function answerDetail(
  response: ServerResponse,
  status: number,
  detail: string,
  code?: string,
  more: Readonly<Record<string, unknown>> = {},
): void {
  if (response.headersSent || response.destroyed) return void response.destroy();
  const body = JSON.stringify({ detail, code, ...more });
  protectAnswer(response);
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    ...((status === 503 && code === undefined) || status === 429 ? RETRY : {}),
  });
  response.end(body);
}
