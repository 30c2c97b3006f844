import { type JsonWalk, membersOf } from '#lib/json';

/** The text of a JSON object with more members behind its own. */
export function withMembers(object: string, more: object): string {
  const members = JSON.stringify(more).slice(1);
  if (members === '}') return object;
  return object === '{}' ? `{${members}` : `${object.slice(0, -1)},${members}`;
}

/** The text of a JSON object with the members chosen by name; `{}` for anything but an object. */
export function* chosenMembers(
  json: string,
  isChosen: (name: string) => boolean,
  from = 0,
): JsonWalk<string> {
  const members: string[] = [];
  for (const member of membersOf(json, from)) {
    if (!member) yield undefined;
    else if (isChosen(member.name))
      members.push(`${JSON.stringify(member.name)}:${json.slice(member.start, member.end)}`);
  }
  return `{${members.join(',')}}`;
}
