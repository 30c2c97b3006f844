/**
 * Fields of a text of `/proc/PID/stat` after the name of the program, which may itself hold blanks and parentheses: state,
 * parent, group, session, …
 */
export function statFields(text: string): readonly string[] {
  return text.slice(text.lastIndexOf(')') + 2).split(' ');
}
