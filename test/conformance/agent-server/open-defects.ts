/**
 * Rows that fail today, as `CLIENT: NAME`, with what is known of the cause. A row that begins to pass fails the suite until
 * it is taken out of the list.
 */
export const OPEN_DEFECTS: Readonly<Record<string, string>> = {};
