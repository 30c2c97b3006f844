import { EXPORT_COLUMNS } from '#lib/trace-store';
import { DDL_ENGINES } from './ddl-engine.js';
import { type DdlTable, renderDdl } from './export-ddl-command.js';

const TABLE: DdlTable = {
  name: 'runs',
  columns: EXPORT_COLUMNS.filter(({ name }) => ['id', 'tags', 'start_time', 'total_cost'].includes(name)),
  formatVersion: 'v2_beta',
  folder: "s3://bucket/it's/resource=runs",
  url: "https://store.example.com/bucket/it's/resource=runs",
  years: [2025, 2026],
};

describe('renderDdl', () => {
  it.each([
    ['v1', 'string'],
    ['v2_beta', 'array<string>'],
  ] as const)('renders the columns of %s with the types of its files', (formatVersion, list) => {
    expect(renderDdl('athena', { ...TABLE, formatVersion })).toContain(`(
  \`id\` string,
  \`start_time\` timestamp,
  \`tags\` ${list},
  \`total_cost\` decimal(18,10)
)
PARTITIONED BY (\`year\` int, \`month\` int, \`day\` int)`);
  });

  it.each(DDL_ENGINES.filter((engine) => engine !== 'iceberg'))(
    'renders the folder for %s as one text, whatever is in the prefix',
    (engine) => expect(renderDdl(engine, TABLE)).toMatch(/'(s3|gs|https):\/\/\S*\/it''s\/resource=runs/),
  );

  it('renders every exportable column for every engine', () => {
    for (const engine of DDL_ENGINES) {
      const ddl = renderDdl(engine, { ...TABLE, columns: EXPORT_COLUMNS });
      expect(EXPORT_COLUMNS.filter(({ name }) => !ddl.includes(name))).toEqual([]);
    }
  });
});
