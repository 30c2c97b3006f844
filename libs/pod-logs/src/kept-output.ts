import { ANNOTATION, type ConfigMap } from '#lib/resources';
import { byTime, lineTime, type LogLine } from './log-line.js';

const SUFFIX = '.log';

/**
 * The lines of a ConfigMap `REVISION-output`, by time. One that was written without times has that of its last change.
 * @param container the only one that is wanted
 */
export function keptLines({ metadata, data = {} }: ConfigMap, container?: string): readonly LogLine[] {
  const pod = metadata.annotations?.[ANNOTATION.pod] ?? metadata.name.replace(/-output$/, '');
  const made = lineTime(metadata.creationTimestamp ?? '') ?? '';
  return Object.entries(data)
    .map(([key, text]) => ({ container: key.slice(0, -SUFFIX.length), text }))
    .filter((one) => container === undefined || one.container === container)
    .flatMap(({ container: name, text }) => {
      let last = made;
      return linesOf(text).map((line): LogLine => {
        const space = line.indexOf(' ');
        const time = space === -1 ? undefined : lineTime(line.slice(0, space));
        last = time ?? last;
        return { time: last, pod, container: name, text: time === undefined ? line : line.slice(space + 1) };
      });
    })
    .sort(byTime);
}

function linesOf(text: string): readonly string[] {
  const lines = text.split('\n');
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines;
}
