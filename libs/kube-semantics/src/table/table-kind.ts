import type { KubeObject } from '../object/kube-object.js';

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** A span as kubectl shows ages: two or three figures, `2m5s`, `36h`, `5d3h`. */
export function humanDuration(ms: number): string {
  const seconds = Math.trunc(ms / 1000);
  if (seconds < -1) return '<invalid>';
  if (seconds < 0) return '0s';
  if (seconds < 2 * MINUTE) return `${seconds}s`;
  const minutes = Math.floor(seconds / MINUTE);
  if (minutes < 10) return pair(minutes, 'm', seconds % MINUTE, 's');
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(seconds / HOUR);
  if (hours < 8) return pair(hours, 'h', minutes % 60, 'm');
  if (hours < 48) return `${hours}h`;
  const days = Math.floor(seconds / DAY);
  if (hours < 24 * 8) return pair(days, 'd', hours % 24, 'h');
  if (days < 365 * 2) return `${days}d`;
  const years = Math.floor(days / 365);
  return days < 365 * 8 ? pair(years, 'y', days % 365, 'd') : `${years}y`;
}

function pair(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large}${largeUnit}` : `${large}${largeUnit}${small}${smallUnit}`;
}

/** Age of a timestamp. */
export function age(time: unknown, now: Date): string {
  if (typeof time !== 'string' || time === '') return '<unknown>';
  const at = Date.parse(time);
  return Number.isNaN(at) ? '<invalid>' : humanDuration(now.getTime() - at);
}

export type Cell = string | number | bigint | boolean | null;

export interface TableColumn {
  readonly name: string;
  readonly type: string;
  readonly format: string;
  readonly description: string;
  readonly priority: number;
}

/** Table of one kind's objects in `kubectl get`. */
export interface TableKind {
  readonly columns: readonly TableColumn[];
  cells(object: KubeObject, now: Date): readonly Cell[];
}

/** Columns from short notes: a name, `+` in front for `-o wide` only, `#` in front for whole numbers. */
export function columns(...names: readonly string[]): readonly TableColumn[] {
  return names.map((note) => {
    const name = note.replace(/^[+#]+/, '');
    return {
      name,
      type: note.includes('#') ? 'integer' : 'string',
      format: name === 'Name' ? 'name' : '',
      description: '',
      priority: note.startsWith('+') ? 1 : 0,
    };
  });
}
