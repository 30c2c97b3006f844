// Screens over time → one SVG that moves by CSS alone, so that it plays where a page shows it as an image.

const CELL = { width: 8.4, height: 18 };
const FONT_SIZE = 14;
const EDGE = 14;
const TITLE_HEIGHT = 30;
const COLOURS = {
  31: '#ff7b72',
  32: '#7ee787',
  33: '#f2cc60',
  34: '#79c0ff',
  35: '#d2a8ff',
  36: '#76e3ea',
  90: '#8b949e',
};

function escaped(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

function round(number) {
  return Number(number.toFixed(2));
}

/**
 * Words with single blanks between them, each run at its own column: renderers differ in whether they keep blanks, and
 * one that drops some stretches the rest over `textLength`.
 */
function wordRuns(text) {
  return [...text.matchAll(/\S+(?: \S+)*/gu)].map(({ 0: words, index }) => ({
    words,
    at: [...text.slice(0, index)].length,
  }));
}

/** One piece of a line, at its column. */
function pieceElement({ text, style }, column, y) {
  const numbers = style === '' ? [] : style.split(';');
  const isInverse = numbers.includes('7');
  const widthOf = (shown) => round([...shown].length * CELL.width);
  const xOf = (cells) => round(EDGE + cells * CELL.width);
  const colour = COLOURS[numbers.find((number) => number in COLOURS)];
  const attributes = [
    numbers.includes('1') ? ' font-weight="bold"' : '',
    numbers.includes('2') ? ' opacity=".6"' : '',
    isInverse ? ' fill="#0d1117"' : colour === undefined ? '' : ` fill="${colour}"`,
  ].join('');
  const back = isInverse
    ? `<rect x="${xOf(column)}" y="${round(y - CELL.height + 5)}" width="${widthOf(text)}" height="${CELL.height}" fill="${colour ?? '#c9d1d9'}"/>`
    : '';
  const runs = wordRuns(text).map(
    ({ words, at }) =>
      `<text x="${xOf(column + at)}" y="${y}" textLength="${widthOf(words)}"${attributes}>${escaped(words)}</text>`,
  );
  return back + runs.join('');
}

function lineElements(pieces, row) {
  const y = round(EDGE + TITLE_HEIGHT + (row + 1) * CELL.height - 5);
  let column = 0;
  return pieces
    .map((piece) => {
      const element = pieceElement(piece, column, y);
      column += [...piece.text].length;
      return element;
    })
    .join('');
}

/** For each line, what it shows and from which time until which; equal neighbours are one. */
function intervals(frames, endMs) {
  const found = [];
  const rows = Math.max(...frames.map(({ lines }) => lines.length));
  for (let row = 0; row < rows; row++) {
    let current;
    for (const { atMs, lines } of frames) {
      const shown = lineElements(lines[row] ?? [], row);
      if (current?.shown === shown) continue;
      if (current) current.toMs = atMs;
      current = { shown, fromMs: atMs, toMs: endMs };
      found.push(current);
    }
  }
  return found.filter(({ shown }) => shown !== '');
}

/**
 * @param frames `{atMs, lines}` in the order of time; lines in pieces of one style
 * @returns the text of the SVG; without motion it shows the last frame
 */
export function framesToSvg(frames, { columns, rows, title, holdMs }) {
  const endMs = frames.at(-1).atMs + holdMs;
  const width = round(columns * CELL.width + 2 * EDGE);
  const height = rows * CELL.height + 2 * EDGE + TITLE_HEIGHT;
  const percent = (ms) => `${round((ms / endMs) * 100)}%`;
  const names = new Map();
  const groups = intervals(frames, endMs).map(({ shown, fromMs, toMs }) => {
    const key = `${fromMs} ${toMs}`;
    if (!names.has(key)) names.set(key, { name: `k${names.size}`, fromMs, toMs });
    const isLast = toMs === endMs ? ' last' : '';
    return `<g class="f${isLast}" style="animation-name:${names.get(key).name}">${shown}</g>`;
  });
  const keyframes = [...names.values()].map(({ name, fromMs, toMs }) => {
    const before = fromMs === 0 ? '' : '0%{visibility:hidden}';
    const after = toMs === endMs ? '100%{visibility:visible}' : `${percent(toMs)}{visibility:hidden}`;
    return `@keyframes ${name}{${before}${percent(fromMs)}{visibility:visible}${after}}`;
  });
  const dots = ['#ff5f57', '#febc2e', '#28c840'].map(
    (colour, at) => `<circle cx="${EDGE + 8 + at * 20}" cy="${EDGE + 6}" r="6" fill="${colour}"/>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escaped(title)}" font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace" font-size="${FONT_SIZE}" fill="#c9d1d9">
<style>.f{visibility:hidden;animation:${round(endMs / 1000)}s step-end infinite}@media (prefers-reduced-motion:reduce){.f{animation:none}.last{visibility:visible}}
${keyframes.join('\n')}</style>
<rect width="${width}" height="${height}" rx="8" fill="#0d1117"/>${dots.join('')}
${groups.join('\n')}
</svg>
`;
}
