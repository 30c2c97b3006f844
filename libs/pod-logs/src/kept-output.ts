import {
  type AgentRevision,
  ANNOTATION,
  COMPONENT,
  type ConfigMap,
  LABEL,
  type Pod,
  revisionBuildName,
  revisionOutputName,
} from '#lib/resources';
import { byTime, lineTime, type LogLine } from './log-line.js';

const SUFFIX = '.log';
/** Limit per container: no more is kept, and other writers of ConfigMaps may write more. */
const MAX_LINES = 2_000;
const MAX_LETTERS = 262_144;
const MAX_CONTAINERS = 8;

export interface KeptChoice {
  /** The only container that is wanted. */
  readonly container?: string | undefined;
  /** Last lines of each container. */
  readonly tail?: number | undefined;
}

/**
 * The last lines of a ConfigMap `REVISION-output`, by time. One that was written without times has that of its creation. Read
 * from the end, so that a text of megabytes costs what is wanted of it.
 */
export function keptLines(
  { metadata, data = {} }: ConfigMap,
  { container, tail = MAX_LINES }: KeptChoice = {},
): readonly LogLine[] {
  const pod = metadata.annotations?.[ANNOTATION.pod] ?? metadata.name.replace(/-output$/, '');
  const made = lineTime(metadata.creationTimestamp ?? '') ?? '';
  return Object.entries(data)
    .filter(([key]) => key.endsWith(SUFFIX))
    .slice(0, MAX_CONTAINERS)
    .map(([key, text]) => ({ container: key.slice(0, -SUFFIX.length), text }))
    .filter((one) => container === undefined || one.container === container)
    .flatMap(({ container: name, text }) => {
      let last = made;
      return linesOf(text, Math.min(tail, MAX_LINES)).map((line): LogLine => {
        const space = line.indexOf(' ');
        const time = space === -1 ? undefined : lineTime(line.slice(0, space));
        last = time ?? last;
        return { time: last, pod, container: name, text: time === undefined ? line : line.slice(space + 1) };
      });
    })
    .sort(byTime);
}

/** The last lines, oldest first. */
function linesOf(whole: string, wanted: number): readonly string[] {
  const text = whole.length > MAX_LETTERS ? endOf(whole) : whole;
  const lines: string[] = [];
  let end = text.endsWith('\n') ? text.length - 1 : text === '' ? -1 : text.length;
  while (end >= 0 && lines.length < wanted) {
    const before = end === 0 ? -1 : text.lastIndexOf('\n', end - 1);
    lines.push(text.slice(before + 1, end));
    end = before;
  }
  return lines.reverse();
}

/** Whole lines of the end; a copy, since a part of a text keeps all of it in memory. */
function endOf(text: string): string {
  const end = Buffer.from(text.slice(-MAX_LETTERS)).toString();
  return end.slice(end.slice(0, -1).indexOf('\n') + 1);
}

/**
 * Names of the ConfigMaps whose lines belong to the logs of revisions: that of a build whose pod is gone, and
 * that of a revision that failed and has no pods. The output of existing pods is read from them.
 */
export function keptNames(
  {
    built,
    failed,
  }: { readonly built: AgentRevision | undefined; readonly failed: AgentRevision | undefined },
  pods: readonly Pod[],
): readonly string[] {
  const hasPods = (revision: AgentRevision, isOfBuild: boolean): boolean =>
    pods.some(
      ({ metadata: { labels } }) =>
        labels?.[LABEL.revision] === revision.metadata.name &&
        (labels[LABEL.component] === COMPONENT.builder) === isOfBuild,
    );
  return [
    ...(built?.status?.build && !hasPods(built, true) ? [revisionBuildName(built.metadata.name)] : []),
    ...(failed && !hasPods(failed, false) ? [revisionOutputName(failed.metadata.name)] : []),
  ];
}
