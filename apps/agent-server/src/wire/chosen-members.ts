import { membersOf, type JsonWalk } from '#lib/json';

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
