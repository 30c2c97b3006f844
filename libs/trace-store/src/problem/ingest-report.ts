import type { FieldProblem } from '#lib/errors';
import type { ProjectReference } from '../project/project.js';
import type { MemberNote } from '../wire/member-reader.js';
import type { LeftOut } from '../wire/run-operation.js';

/** Refused: the run was not stored. Mended: it was, with a member changed. Dropped: without a member. */
export type IngestEventKind = 'refused' | 'mended' | 'dropped';

/** Something that was not stored as it came. */
export interface IngestEvent {
  readonly kind: IngestEventKind;
  /** A stable word. */
  readonly type: string;
  readonly runId?: string | undefined;
  /** Undefined when the operation names none: it is that of the run, if there is one. */
  readonly project?: ProjectReference | undefined;
  readonly member?: string | undefined;
  readonly message: string;
  /** Number of events like this one that it represents. */
  readonly times: number;
}

/** A broken client must not fill memory with its own problems. */
const MAX_EVENTS = 1_000;
const MAX_MENDED = 100;
/** Problems of one run that are put into words. */
const MAX_WORDS = 3;
const MAX_TEXT = 500;
const MAX_NAME = 200;

/** The run that an operation is about, if it names one. */
export interface Subject {
  readonly id?: string | undefined;
  readonly project?: ProjectReference | undefined;
}

/** Collects the parts of one batch that were not stored as they came. */
export class IngestReport {
  readonly #events: IngestEvent[] = [];
  readonly #standIns = new Map<string, number>();
  readonly #mended: FieldProblem[] = [];

  /** A run that is not stored, with everything that is wrong with it. */
  refuse({ id, project }: Subject, problems: readonly FieldProblem[]): void {
    const [first] = problems;
    if (!first) return;
    this.#add({
      kind: 'refused',
      type: first.type,
      runId: id,
      project,
      member: nameOf(first),
      message: problems
        .slice(0, MAX_WORDS)
        .map((problem) => `${nameOf(problem)}: ${problem.msg}`)
        .join('; '),
    });
  }

  /** Members of a run that is stored. */
  note({ id, project }: Subject, notes: readonly MemberNote[]): void {
    for (const note of notes) {
      const { kind, loc, msg, type } = note;
      if (this.#mended.length < MAX_MENDED) this.#mended.push({ loc, msg, type });
      this.#add({ kind, type, runId: id, project, member: nameOf(note), message: msg });
    }
  }

  /** @param projectOf project that the batch names for a run */
  leaveOut(parts: readonly LeftOut[], projectOf: (runId: string) => ProjectReference | undefined): void {
    for (const { type, runId, member, why } of parts)
      this.#add({
        kind: 'dropped',
        type,
        runId,
        member,
        message: why ?? `${type} is not stored by this platform yet`,
        project: runId === undefined ? undefined : projectOf(runId),
      });
  }

  get mended(): readonly FieldProblem[] {
    return this.#mended;
  }

  get events(): readonly IngestEvent[] {
    return this.#events;
  }

  #add(event: Omit<IngestEvent, 'times'>): void {
    const key = JSON.stringify([event.kind, event.type, event.project]);
    if (this.#events.length < MAX_EVENTS) {
      this.#standIns.set(key, this.#events.length);
      this.#events.push({
        ...event,
        member: event.member?.slice(0, MAX_NAME),
        message: event.message.slice(0, MAX_TEXT),
        times: 1,
      });
      return;
    }
    const at = this.#standIns.get(key) ?? this.#events.length - 1;
    const known = this.#events[at];
    if (known) this.#events[at] = { ...known, times: known.times + 1 };
  }
}

function nameOf({ loc }: Pick<FieldProblem, 'loc'>): string {
  return String(loc.at(-1) ?? 'run');
}
