import type { FaultTarget } from '#lib/embedded-object-store';

/** What a request to the object store is for. */
export type StoreCall =
  | 'begin upload'
  | 'send part'
  | 'complete upload'
  | 'look at object'
  | 'write manifest'
  | 'abort upload'
  | 'list uploads';

/** What a write of progress says; heartbeats say nothing new, and are none of these. */
export type ProgressWrite =
  'claim' | 'name part' | 'name upload' | 'name rows' | 'add file' | 'clear intent' | 'finish';

/** A request or a write, and the file that it is about: from 1, or 0 for those of the whole run. */
export interface Step {
  readonly side: 'store' | 'progress';
  readonly step: StoreCall | ProgressWrite;
  readonly file: number;
}

/** Where an attempt is killed. */
export interface KillPoint extends Step {
  /** Whether the request or write has its effect, of which the attempt then never hears. */
  readonly isDone: boolean;
}

export const atStore = (step: StoreCall, file: number, isDone: boolean): KillPoint => ({
  side: 'store',
  step,
  file,
  isDone,
});

export const atProgress = (step: ProgressWrite, file: number, isDone: boolean): KillPoint => ({
  side: 'progress',
  step,
  file,
  isDone,
});

function callOf({ method, query }: FaultTarget): StoreCall {
  if (method === 'HEAD') return 'look at object';
  if (query.has('partNumber')) return 'send part';
  if (query.has('uploads')) return method === 'POST' ? 'begin upload' : 'list uploads';
  if (query.has('uploadId')) return method === 'POST' ? 'complete upload' : 'abort upload';
  if (method === 'PUT') return 'write manifest';
  throw new Error(`a worker sent ${method} with ${[...query.keys()].join(', ')}`);
}

export function stepOf(target: FaultTarget): Step {
  const place = target.key === '' ? (target.query.get('prefix') ?? '') : target.key;
  const number = /\/part-(\d+)\./.exec(place)?.[1];
  return { side: 'store', step: callOf(target), file: Number(number ?? 0) };
}

export const isAt = (step: Step, point: Step): boolean =>
  step.step === point.step && step.file === point.file;
