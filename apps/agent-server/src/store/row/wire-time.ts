/** Fields of a row that the wire shows as text. */
type Timed<K extends string> = Readonly<Record<K, Date>>;

/** A row with its times as ISO 8601 text. */
export function withWireTimes<T extends Timed<'created_at' | 'updated_at'>>(
  row: T,
): Omit<T, 'created_at' | 'updated_at'> & { readonly created_at: string; readonly updated_at: string } {
  return { ...row, created_at: row.created_at.toISOString(), updated_at: row.updated_at.toISOString() };
}
