import type { ReadRun } from './read-run.js';

/** `812 ms`, `3.41 s`, `2m 05s`; empty while the run lasts. */
export function latencyText(seconds: number | null): string {
  if (seconds === null) return '';
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 100) return `${seconds.toFixed(2)} s`;
  const whole = Math.round(seconds);
  return `${Math.floor(whole / 60)}m ${String(whole % 60).padStart(2, '0')}s`;
}

/** The name, or the id of a run without one, and that its parent is missing. */
export function nameText({ id, name, parent_missing: isMissing = false }: ReadRun): string {
  return `${name === '' ? id : name}${isMissing ? ' (parent not received)' : ''}`;
}

/** Empty where nothing is known; in the unit in which costs are sent. */
export function costText(cost: string | null): string {
  if (cost === null) return '';
  const number = Number(cost);
  return number === 0 ? '0' : number.toFixed(number < 0.01 ? 6 : 4);
}

export function tokensText({ total_tokens: tokens }: ReadRun): string {
  return tokens === 0 ? '' : String(tokens);
}

/** The first line of an error. */
export function errorLine({ error }: ReadRun): string {
  return error?.trim().split('\n', 1)[0] ?? '';
}

/** Time to the second: tables are read by people. */
export function timeText(time: string): string {
  return `${time.slice(0, 19)}Z`;
}

const UNITS: readonly (readonly [string, number])[] = [
  ['d', 86_400],
  ['h', 3_600],
  ['m', 60],
];

/** Time since an instant in its largest unit: `3d`, `12m`, `5s`. */
export function ageText(time: string, now: Date): string {
  const seconds = Math.max(0, Math.floor((now.getTime() - Date.parse(time)) / 1_000));
  const [unit, length] = UNITS.find(([, one]) => seconds >= one) ?? ['s', 1];
  return `${Math.floor(seconds / length)}${unit}`;
}
