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
