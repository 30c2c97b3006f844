/** The text of a JSON object with more members behind its own. */
export function withMembers(object: string, more: object): string {
  const members = JSON.stringify(more).slice(1);
  if (members === '}') return object;
  return object === '{}' ? `{${members}` : `${object.slice(0, -1)},${members}`;
}
