/** A line of the build's log. */
export function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
