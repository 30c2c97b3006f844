import { visibleText } from '#lib/command-line';
import { cutToWidth, displayWidth } from './display-width.js';

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
