import type { ServerResponse } from 'node:http';

/**
 * Headers of answers, which are data of one caller: no proxy may keep a copy, and a browser takes them for
 * the type that their header says.
 */
export const PROTECTIVE_HEADERS = {
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
} as const;

/**
 * Sets the headers. It must be called before the answer has a head: streams that write their own keep these
 * headers.
 */
export function protectAnswer(response: ServerResponse): void {
  for (const [name, value] of Object.entries(PROTECTIVE_HEADERS)) response.setHeader(name, value);
}
