import { Client } from '@langchain/langgraph-sdk';
import { Client as OtherClient } from 'langgraph-sdk-2';
import { Client as EarlierClient } from 'langgraph-sdk-earlier';
import type { Checks, Needs, Row, Target } from '../target.js';

/** Lines since 1.0 of the JavaScript SDK: the newest minor and the one before it. */
const NEWER_LINES: Readonly<Record<string, typeof Client>> = {
  'JavaScript SDK 1.15': Client,
  'JavaScript SDK 1.14': EarlierClient as never,
};

/** All lines; the methods that rows call have the same types in each. */
const LINES: Readonly<Record<string, typeof Client>> = {
  ...NEWER_LINES,
  'JavaScript SDK 2.0': OtherClient as never,
};

/** No retries: an error is what the server answered first. */
export function sdkClient({ url, headers }: Pick<Target, 'url' | 'headers'>, Line = Client): Client {
  return new Line({
    apiUrl: url,
    apiKey: null,
    defaultHeaders: { ...headers },
    callerOptions: { maxRetries: 0, maxConcurrency: 20 },
  });
}

/** Each row for each line of the SDK. */
export function sdkRows(checks: Checks<[Client, Target]>, needs?: Needs): Row[] {
  return rowsOfLines(LINES, checks, needs);
}

/** Rows of what came after the line of 2.0, which is older than its number. */
export function newerSdkRows(checks: Checks<[Client, Target]>, needs?: Needs): Row[] {
  return rowsOfLines(NEWER_LINES, checks, needs);
}

function rowsOfLines(lines: typeof LINES, checks: Checks<[Client, Target]>, needs?: Needs): Row[] {
  return Object.entries(lines).flatMap(([line, Line]) => rowsOfLine(line, Line, checks, needs));
}

function rowsOfLine(
  client: string,
  Line: typeof Client,
  checks: Checks<[Client, Target]>,
  needs?: Needs,
): Row[] {
  return Object.entries(checks).map(([name, check]) => ({
    client,
    name,
    check: (target: Target) => check(sdkClient(target, Line), target),
    ...(needs ? { needs } : {}),
  }));
}

/** An event of a stream; the SDK's types leave its id out. */
export interface StreamPart {
  readonly event: string;
  readonly data: unknown;
  readonly id?: string;
}

export async function collect(stream: AsyncIterable<unknown>): Promise<StreamPart[]> {
  const parts: StreamPart[] = [];
  for await (const part of stream) parts.push(part as StreamPart);
  return parts;
}

/** What the events of that name carried. */
export function dataOf(parts: readonly StreamPart[], name: string): unknown[] {
  return parts.filter(({ event }) => event === name).map(({ data }) => data);
}

/** The status of a refusal; 200 where nothing was refused. */
export async function statusOf(asked: Promise<unknown>): Promise<unknown> {
  return asked.then(
    () => 200,
    (error: unknown) => (error as { readonly status?: number }).status ?? String(error),
  );
}
