import type { ObjectMeta } from './object-meta.js';
import { ANNOTATION } from './label.js';

/**
 * Maximum length of an annotation, in characters. It is read for requests: a longer one, which any editor may
 * write, slows all of them.
 */
const MAX_NOTE = 4_096;
/** A sentence; in JSON a character may become six. */
const MAX_PROBLEM = 500;

/** Note on the Service of a deployment while requests to it wait: annotation `ANNOTATION.sleep`. */
export interface SleepNote {
  /** Time at which the deployment began to doze off: the name of this sleep. */
  readonly since: string;
  /** Name of the Deployment whose pods the Service leads to when it is awake, where its selector says something else now. */
  readonly workload?: string;
  /** The deployment is suspended, or is being resumed: no request wakes it. */
  readonly suspended?: boolean;
  /** Time since which its pods are being started. */
  readonly wakingSince?: string;
  /** Reason why they do not become ready: requests are refused with this sentence. */
  readonly problem?: string;
}

interface Noted {
  readonly metadata: Pick<ObjectMeta, 'annotations'>;
}

/** Undefined for a Service whose requests go to its pods, and for a note that is longer than those of the platform. */
export function sleepNoteOf({ metadata: { annotations } }: Noted): SleepNote | undefined {
  const text = annotations?.[ANNOTATION.sleep];
  if (text === undefined || text.length > MAX_NOTE) return undefined;
  try {
    const note: unknown = JSON.parse(text);
    if (typeof note !== 'object' || note === null) return undefined;
    const names = ['since', 'workload', 'suspended', 'wakingSince', 'problem'];
    const [since, workload, suspended, wakingSince, problem] = names.map((name): unknown =>
      Reflect.get(note, name),
    );
    if (typeof since !== 'string') return undefined;
    return {
      since,
      ...(typeof workload === 'string' ? { workload } : {}),
      ...(suspended === true ? { suspended } : {}),
      ...(typeof wakingSince === 'string' ? { wakingSince } : {}),
      ...(typeof problem === 'string' ? { problem } : {}),
    };
  } catch {
    return undefined;
  }
}

/** The same note is the same text; a long problem is cut. */
export function formatSleepNote({ problem, ...note }: SleepNote): string {
  const { since, workload, suspended, wakingSince } = note;
  return JSON.stringify({ since, workload, suspended, wakingSince, problem: problem?.slice(0, MAX_PROBLEM) });
}

/** True when a request has asked for the end of this very sleep. */
export function isWakeAsked({ metadata: { annotations } }: Noted, { since }: SleepNote): boolean {
  return annotations?.[ANNOTATION.wake] === since;
}
