import { type Command, command, optional } from '#lib/command-line';
import { TARGET_OPTIONS } from '../context/target.js';
import { OUTPUT } from '../output/output-option.js';

/** `agentplane sql`. */
export const SQL_COMMANDS: readonly Command[] = [
  command(
    {
      words: 'sql',
      about: 'ask exported files in SQL, by DuckDB: the views are runs, traces and feedback',
      arguments: [
        { name: 'export', about: 'name or id; all complete exports as Parquet by default', isOptional: true },
      ],
      options: {
        command: optional('-c, --command <sql>', 'the statement; else those of standard input'),
        to: optional('--to <file>', 'write the rows to a file: .parquet, .csv or .json'),
        ...TARGET_OPTIONS,
        output: OUTPUT,
      },
      examples: [
        'sql -c "SELECT name, sum(total_cost) FROM traces GROUP BY name"',
        'sql lake -c "SELECT * FROM runs WHERE status = \'error\'" --to failed.parquet',
      ],
      exits: ['notFound', 'unreachable', 'refused'],
      needs: 'rest',
    },
    async ([given], flags) => (await import('./sql-command.js')).askInSql(given, flags),
  ),
];
