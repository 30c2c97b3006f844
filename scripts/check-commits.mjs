// npm run lint:commits: subjects read `area: imperative verb and object` and have at most 72 characters. Looks at the
// commits since the one that brought this file.
import { execFileSync } from 'node:child_process';
import { relative } from 'node:path';

const SUBJECT = /^[a-z][a-z0-9-]*(, [a-z][a-z0-9-]*)*: [a-z]\S* \S/;
const LONGEST = 72;

function git(...args) {
  return execFileSync('git', args, {
    cwd: import.meta.dirname,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
}

function subjects() {
  const top = git('rev-parse', '--show-toplevel').trim();
  const path = relative(top, import.meta.filename);
  const first = git('log', '--diff-filter=A', '--format=%H', '--', `:/${path}`).trim().split('\n').at(-1);
  return first ? git('log', '--no-merges', '--format=%h %s', `${first}~1..HEAD`).trim().split('\n') : [];
}

let wrong = 0;
let listed = [];
try {
  listed = subjects();
} catch {
  process.stdout.write('commit subjects not checked: no git history\n');
}
for (const line of listed) {
  const subject = line.slice(line.indexOf(' ') + 1);
  if (SUBJECT.test(subject) && subject.length <= LONGEST) continue;
  wrong++;
  process.stderr.write(
    `${line}: write "area: imperative verb and object" in at most ${LONGEST} characters\n`,
  );
}
process.exit(wrong > 0 ? 1 : 0);
