import { visibleText } from '#lib/command-line';

/** Scripts and signs that take two columns: East Asian wide and full width, and pictures. */
const WIDE =
  /^(?:[\u1100-\u115f\u2329\u232a\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|[\u{16fe0}-\u{18aff}\u{1b000}-\u{1b2ff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}|\p{Emoji}\ufe0f)/u;
const NONE = /^(?:[\p{Mn}\p{Me}\p{Cf}\u1160-\u11ff])+$/u;
const PLAIN = /^[\u0020-\u007e\u00a0-\u02ff\u2500-\u259f]*$/;
const SEGMENTS = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

function widthOfGrapheme(grapheme: string): number {
  return NONE.test(grapheme) ? 0 : WIDE.test(grapheme) ? 2 : 1;
}

/** Columns that a text takes in a terminal; without control characters. */
export function displayWidth(text: string): number {
  if (PLAIN.test(text)) return text.length;
  let width = 0;
  for (const { segment } of SEGMENTS.segment(text)) width += widthOfGrapheme(segment);
  return width;
}

/** The beginning of a text that takes at most `width` columns; a character is never cut in two. */
export function cutToWidth(text: string, width: number): string {
  if (PLAIN.test(text)) return text.slice(0, width);
  let used = 0;
  let end = 0;
  for (const { segment, index } of SEGMENTS.segment(text)) {
    used += widthOfGrapheme(segment);
    if (used > width) break;
    end = index + segment.length;
  }
  return text.slice(0, end);
}

/** The part of a list that is on the screen. */
export interface ListWindow {
  readonly start: number;
  readonly end: number;
}

/**
 * `height` places of a list of `length` with the selected one among them: where they were, moved no further than it
 * takes, so that a step to the next row changes two lines and not all.
 * @param before first place of the former window @param selected -1 for none
 */
export function windowOf(length: number, height: number, selected: number, before = 0): ListWindow {
  const places = Math.max(0, Math.min(length, height));
  const wanted = selected < 0 ? before : Math.min(selected, Math.max(before, selected - places + 1));
  const start = Math.max(0, Math.min(length - places, wanted));
  return { start, end: start + places };
}

const LEVELS = '▁▂▃▄▅▆▇█';

/** The last `width` values as a line of blocks; the highest value is a full block. Nothing for no values. */
export function sparkline(values: readonly number[], width: number): string {
  const shown = values.slice(-width);
  const top = Math.max(...shown, 0);
  return shown
    .map((value) => (top > 0 ? LEVELS[Math.min(7, Math.floor((value / top) * 7.999))] : LEVELS[0]))
    .join('');
}

/** The span since `from` as kubectl prints ages: `42s`, `3m`, `5h`, `2d`. */
export function age(from: string | undefined, now: Date): string {
  if (from === undefined) return '';
  const seconds = Math.max(0, Math.floor((now.getTime() - Date.parse(from)) / 1000));
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3600)}h`;
  return `${Math.floor(seconds / 86_400)}d`;
}

/** `45s`, `3m20s`, `2h05m`; for time left. */
export function span(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m${String(seconds % 60).padStart(2, '0')}s`;
  return `${Math.floor(seconds / 3600)}h${String(Math.floor((seconds % 3600) / 60)).padStart(2, '0')}m`;
}

/** Sequence that makes a terminal copy a text, also one at the other end of SSH (OSC 52). */
export function copyCode(text: string): string {
  return `\u001b]52;c;${Buffer.from(text).toString('base64')}\u0007`;
}

/** The text in exactly `width` columns: padded, or cut with an ellipsis. */
export function fit(text: string, width: number, align: 'left' | 'right' = 'left'): string {
  if (width <= 0) return '';
  const shown = oneLine(text);
  const wide = displayWidth(shown);
  if (wide > width) {
    const cut = cutToWidth(shown, width - 1);
    return `${cut}…${' '.repeat(width - 1 - displayWidth(cut))}`;
  }
  const padding = ' '.repeat(width - wide);
  return align === 'left' ? shown + padding : padding + shown;
}

/** A text of others as one line that a terminal only shows. */
export function oneLine(text: string): string {
  return visibleText(text).replaceAll(/[\n\t]/g, ' ');
}
