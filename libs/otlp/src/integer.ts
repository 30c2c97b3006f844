/** An integer as readers of JSON keep it: its digits if a number would round. */
export function integer(value: bigint): number | string {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value.toString();
}
