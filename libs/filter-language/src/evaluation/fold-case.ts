/** Lower case by single characters as Postgres has it; JavaScript's depends on the place of a sigma, and makes two of İ. */
export function foldCase(text: string): string {
  return text.replaceAll('Σ', 'σ').replaceAll('İ', 'i').toLowerCase();
}
