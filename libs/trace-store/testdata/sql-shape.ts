/** Rules that each replace one allowed piece of SQL by `C`, a condition. `$` is a value. */
const PLACE = '(?:[rt])';
const TOTAL =
  'CASE WHEN [rt]\\.is_root THEN \\(SELECT g\\.[a-z_]+ FROM trace_totals g WHERE g\\.tenant_id = [rt]\\.tenant_id AND g\\.project_id = [rt]\\.project_id AND g\\.trace_id = [rt]\\.trace_id\\) ELSE [rt]\\.[a-z_]+ END';
const STATUS =
  "CASE WHEN [rt]\\.status = 'pending' AND [rt]\\.end_time IS NULL AND \\([rt]\\.start_time < now\\(\\) - interval '24 hours' OR NOT [rt]\\.is_root AND EXISTS \\(SELECT FROM run_keys k JOIN runs o ON o\\.tenant_id = k\\.tenant_id AND o\\.project_id = k\\.project_id AND o\\.start_time = k\\.start_time AND o\\.id = k\\.id AND o\\.trace_id = k\\.trace_id WHERE k\\.tenant_id = [rt]\\.tenant_id AND k\\.project_id = [rt]\\.project_id AND k\\.trace_id = [rt]\\.trace_id AND o\\.is_root AND o\\.end_time < now\\(\\) - interval '1 hours' OFFSET 0\\)\\) THEN 'interrupted' ELSE [rt]\\.status END";
const COLUMN =
  '(?:[rt]\\.[a-z_]+|x\\.(?:key|value|score|source)|p\\.error|left\\(p\\.error, \\d+\\)|1|[rt]\\.end_time - [rt]\\.start_time|' +
  `${TOTAL})`;
const OF_RUN = (table: string, id: string) =>
  `${table}\\.tenant_id = ${PLACE}\\.tenant_id AND ${table}\\.project_id = ${PLACE}\\.project_id AND ${id}`;
const RULES: readonly RegExp[] = [
  new RegExp(`${COLUMN} (?:=|IS DISTINCT FROM|>|>=|<|<=) \\$`, 'g'),
  new RegExp(`${COLUMN} IS (?:NOT )?NULL`, 'g'),
  new RegExp(`${COLUMN} = ANY \\(\\$\\)`, 'g'),
  new RegExp(`${COLUMN} LIKE \\$ ESCAPE ''`, 'g'),
  /(?:NOT )?[rt]\.is_root/g,
  /\$ = ANY \([rt]\.tags\)/g,
  /(?:[rt]\.name|left\(p\.(?:error|inputs|outputs|extra), \d+\)) ILIKE \$/g,
  /lower\(left\(p\.(?:inputs|outputs|extra), \d+\)\) ~ \$/g,
  /EXISTS \(SELECT FROM unnest\([rt]\.tags\) AS g WHERE g ILIKE \$\)/g,
  /CASE WHEN octet_length\(p\.extra\) <= \d+ AND pg_input_is_valid\(p\.extra, 'jsonb'\) THEN \(p\.extra::json -> 'metadata'\)::text ELSE left\(p\.extra, \d+\) END ILIKE \$/g,
  /lower\(CASE WHEN octet_length\(p\.extra\) <= \d+ AND pg_input_is_valid\(p\.extra, 'jsonb'\) THEN \(p\.extra::json -> 'metadata'\)::text ELSE left\(p\.extra, \d+\) END\) ~ \$/g,
  /CASE WHEN octet_length\(p\.extra\) <= \d+ AND pg_input_is_valid\(p\.extra, 'jsonb'\) THEN \(p\.extra::jsonb -> 'metadata'\) (?:@> \$|-> \$ IS NOT NULL) END/g,
  new RegExp(
    `EXISTS \\(SELECT FROM run_payloads p WHERE ${OF_RUN('p', `p\\.start_time = ${PLACE}\\.start_time AND p\\.id = ${PLACE}\\.id AND p\\.trace_id = ${PLACE}\\.trace_id`)} AND C(?: OFFSET 0)?\\)`,
    'g',
  ),
  /EXISTS \(SELECT FROM pg_temp\.sealed_payloads p WHERE p\.segment = [rt]\.segment AND p\.ordinal = [rt]\.ordinal AND C(?: OFFSET 0)?\)/g,
  new RegExp(
    `EXISTS \\(SELECT FROM (?:run_pairs|feedback) x WHERE ${OF_RUN('x', `x\\.run_id = ${PLACE}\\.id AND x\\.trace_id = ${PLACE}\\.trace_id`)}(?: AND x\\.start_time = ${PLACE}\\.start_time AND x\\.kind = 1)? AND C(?: OFFSET 0)?\\)`,
    'g',
  ),
  /EXISTS \(SELECT FROM payload_pairs\(CASE WHEN octet_length\(p\.(?:inputs|outputs)\) <= \d+ THEN p\.(?:inputs|outputs) END\) x WHERE C\)/g,
  /EXISTS \(SELECT FROM run_keys k JOIN runs t ON t\.tenant_id = k\.tenant_id AND t\.project_id = k\.project_id AND t\.start_time = k\.start_time AND t\.id = k\.id AND t\.trace_id = k\.trace_id WHERE k\.tenant_id = r\.tenant_id AND k\.project_id = r\.project_id AND k\.trace_id = r\.trace_id AND C(?: AND C)? OFFSET 0\)/g,
  /NOT C/g,
  /\(C(?: AND C)*\)/g,
  /\(C(?: OR C)*\)/g,
  /\(C IS NOT TRUE\)/g,
];

const VALUE =
  /\$\d+::(?:uuid|text|timestamptz|interval|numeric|float8|jsonb)(?:\[\])?|\(SELECT current_setting\('agentplane\.filter_\d+'\)::(\w+(?:\[\])?)\)::\1/g;

/** What is left of SQL by filters when all allowed pieces are taken out of it: `C`, if there are no others. */
export function sqlShape(sql: string): string {
  let text = sql.replace(VALUE, '$').replace(new RegExp(STATUS, 'g'), 'r.status');
  for (let before = ''; before !== text;) {
    before = text;
    for (const rule of RULES) text = text.replace(rule, 'C');
  }
  return text;
}
