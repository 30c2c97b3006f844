import { isJsonObject } from '#lib/json';

/** `format` of CEL's string extensions: `%s %d %f %e %b %x %X %o %%`, with a precision for fractions. */
export function formatCel(template: string, values: readonly unknown[]): string {
  let next = 0;
  return template.replaceAll(
    /%(?:\.(\d+))?([sdfebxXo%])/g,
    (_, precision: string | undefined, clause: string) => {
      if (clause === '%') return '%';
      if (next >= values.length) throw new Error(`index ${next} out of range`);
      return render(values[next++], clause, precision === undefined ? 6 : Number(precision));
    },
  );
}

function render(value: unknown, clause: string, precision: number): string {
  switch (clause) {
    case 's':
      return printCel(value);
    case 'd':
      return String(value);
    case 'f':
      return Number(value).toFixed(precision);
    case 'e':
      return Number(value)
        .toExponential(precision)
        .replace(/e([+-])(\d)$/, 'e$10$2');
    case 'b':
      return typeof value === 'boolean' ? (value ? '1' : '0') : BigInt(String(value)).toString(2);
    case 'o':
      return BigInt(String(value)).toString(8);
    default:
      return hex(value, clause);
  }
}

function hex(value: unknown, clause: string): string {
  const text =
    typeof value === 'string' ? Buffer.from(value).toString('hex') : BigInt(String(value)).toString(16);
  return clause === 'X' ? text.toUpperCase() : text;
}

/** A value as `%s` shows it. */
function printCel(value: unknown): string {
  if (value === null) return 'null';
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return `[${value.map(printCel).join(', ')}]`;
  if (!isJsonObject(value) || Object.getPrototypeOf(value) !== Object.prototype) return String(value);
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, item]) => `${key}: ${printCel(item)}`).join(', ')}}`;
}
