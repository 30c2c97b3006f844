import { isJsonObject } from '#lib/json';
import type { PrinterColumn } from '../served-type/printer-column.js';
import { age } from './human-duration.js';
import { type JsonPath, parseJsonPath } from './json-path.js';
import { type Cell, columns, type TableKind } from './table-kind.js';

/** The table of a custom resource: its name and the columns of its definition. */
export function customTable(printerColumns: readonly PrinterColumn[]): TableKind {
  const parsed = printerColumns.map((column) => ({
    type: column.type,
    path: parseJsonPath(column.jsonPath),
  }));
  return {
    columns: [
      ...columns('Name'),
      ...printerColumns.map(({ name, type, format, description, priority, jsonPath }) => ({
        name,
        type,
        format: format ?? '',
        description: description || `Custom resource definition column (in JSONPath format): ${jsonPath}`,
        priority: priority ?? 0,
      })),
    ],
    cells: (object, now) => [
      object.metadata.name ?? '',
      ...parsed.map(({ type, path }) => cell(object, type, path, now)),
    ],
  };
}

function cell(object: unknown, type: string, path: JsonPath | undefined, now: Date): Cell {
  const value = path?.find(object)[0];
  if (value === undefined) return null;
  switch (type) {
    case 'string':
      return printed(value);
    case 'integer':
      return typeof value === 'number' ? Math.trunc(value) : typeof value === 'bigint' ? value : null;
    case 'number':
      return typeof value === 'number' ? value : null;
    case 'boolean':
      return typeof value === 'boolean' ? value : null;
    case 'date':
      return typeof value === 'string' ? age(value, now) : null;
    default:
      return null;
  }
}

/** Value as Go's JSONPath prints it: JSON for anything that is no scalar. */
function printed(value: unknown): string {
  if (value === null) return '<nil>';
  return isJsonObject(value) || Array.isArray(value) ? JSON.stringify(value) : String(value);
}
