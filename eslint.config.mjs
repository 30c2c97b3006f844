// The house style's budgets and doors. What crosses folders (layers, cycles) is held by dependency-cruiser.config.mjs.
import tseslint from 'typescript-eslint';
import { comments, plainWords, testNames } from './eslint.language.mjs';

const noEnvironment = {
  selector: "MemberExpression[object.name='process'][property.name='env']",
  message: 'Only libs/config reads the environment: declare a field and use loadConfig.',
};
const noClock = [
  {
    selector: "CallExpression[callee.object.name='Date'][callee.property.name='now']",
    message: 'Use a Clock from #lib/time, or the database time for decisions about rows.',
  },
  {
    selector: "NewExpression[callee.name='Date'][arguments.length=0]",
    message: 'Use a Clock from #lib/time, or the database time for decisions about rows.',
  },
];
const noTimers = ['setTimeout', 'setInterval'].map((name) => ({
  selector: `CallExpression[callee.name='${name}']`,
  message: 'Use clock.after or clock.sleep from #lib/time.',
}));
const noExportAll = {
  selector: 'ExportAllDeclaration',
  message: 'Export names one by one: the index is the contract of the library.',
};
const noDefaultExport = { selector: 'ExportDefaultDeclaration', message: 'Export by name.' };

const noStatementWithoutScope = {
  selector:
    'ExportNamedDeclaration > FunctionDeclaration:not([params.0.typeAnnotation.typeAnnotation.typeName.name=/^(Worker|Caller)?Scope$/])',
  message: 'A statement says on whose behalf it speaks: its first parameter is a Scope.',
};

/** Where requests are answered; texts of the agent's own files, and of processes in which graphs run, are their authors'. */
const requestRooms = [
  'apps/agent-server/src/{a2a,app-front,assistant,authorization,cron,hosting,http,log,mcp,memory}/**',
  'apps/agent-server/src/{protocol,run,store,stream,upkeep,webhook,wire}/**',
];
const parsesForGraphs = [
  'apps/agent-server/src/memory/graph-store.ts',
  'apps/agent-server/src/store/checkpoint/**',
  // which bounds what it parses by its values
  'apps/agent-server/src/http/json-body.ts',
  '**/*.{spec,long}.ts',
];
const noUnboundedParse = {
  selector: "CallExpression[callee.object.name='JSON'][callee.property.name='parse']",
  message:
    'Texts of callers and graphs may be long, and parsing one holds up everybody: pass them on, walk them (inTurns, membersOf, valueAt of #lib/json), or name the bound (parseShort).',
};

/** Where texts that tenants sent or stored are read in one process for all of them. */
const tenantRooms = ['apps/api/src/**/*.ts', 'libs/trace-store/src/**/*.ts', 'libs/otlp/src/**/*.ts'];
const noFaultyParse = {
  selector: "CallExpression[callee.object.name='JSON'][callee.property.name='parse']",
  message:
    'V8 may give an escaped name of one text to the next one, of another tenant: use parseJson of #lib/json.',
};

const source = ['apps/**/*.ts', 'apps/**/*.tsx', 'libs/**/*.ts', 'libs/**/*.tsx'];
const tests = ['**/*.{spec,long}.{ts,tsx}', 'test/**/*.ts', 'libs/testing/**/*.ts', '**/testdata/**'];

/** Words of resources stand in one place, where the reference documents them. */
const noLiteralWords = [
  {
    selector: 'Literal[value=/agentplane\\.dev/], TemplateElement[value.raw=/agentplane\\.dev/]',
    message: 'Groups, labels and annotations are constants of #lib/resources (RESOURCES, LABEL, ANNOTATION).',
  },
];
const noLiteralReasons = [
  {
    selector:
      "Property[key.name='reason'] > Literal[value=/^[A-Z][a-zA-Z]+$/], NewExpression[callee.name=/^(Terminal|Waiting)Error$/] > Literal:first-child",
    message: 'Reasons are constants of #lib/resources: REASON for conditions, EVENT for events.',
  },
  {
    selector:
      'BinaryExpression > Literal[value=/^(Ready|Failed|Completed|Active|Built|Superseded|Accepted|WorkloadsReady)$/]',
    message: 'Condition types and reasons are constants of #lib/resources (CONDITION, REASON).',
  },
];
const noDoubleCast = {
  selector: 'TSAsExpression > TSAsExpression[typeAnnotation.type="TSUnknownKeyword"]',
  message: 'Parse or narrow the value instead of asserting it through unknown.',
};

const rules = [...noClock, ...noTimers, noExportAll, noDefaultExport, noDoubleCast, ...plainWords];
/** Kubernetes' own kinds have reasons of their own, and so do faults of the image store, which are no conditions. */
const foreignReasons = [
  'libs/{cluster-controllers,embedded-kube,kube-semantics,process-runtime,image-store,resources}/**',
];

export default tseslint.config(
  {
    ignores: [
      'dist/',
      'node_modules/',
      '.agentplane/',
      'coverage/',
      'test/cluster/',
      'test/templates/agents/',
    ],
  },
  {
    files: [...source, 'test/**/*.ts'],
    languageOptions: {
      parser: tseslint.parser,
      parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname },
    },
    plugins: { '@typescript-eslint': tseslint.plugin, comments },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      'max-lines': ['error', { max: 400, skipBlankLines: true, skipComments: true }],
      // statements, so that formatting buys no room
      'max-statements': ['error', 50],
      'max-params': ['error', 6],
      'no-console': 'error',
      'comments/whole-sentences': 'error',
      eqeqeq: 'error',
      'no-var': 'error',
      'prefer-const': 'error',
      'no-eval': 'error',
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/no-unnecessary-type-assertion': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: false, requireDefaultForNonUnion: false },
      ],
      '@typescript-eslint/consistent-type-imports': [
        'error',
        { disallowTypeAnnotations: false, fixStyle: 'inline-type-imports' },
      ],
      'no-restricted-syntax': ['error', ...rules, noEnvironment, ...noLiteralWords, ...noLiteralReasons],
    },
  },
  {
    files: foreignReasons,
    rules: { 'no-restricted-syntax': ['error', ...rules, noEnvironment, ...noLiteralWords] },
  },
  {
    files: ['libs/resources/**'],
    rules: { 'no-restricted-syntax': ['error', ...rules, noEnvironment] },
  },
  {
    files: ['libs/config/src/**'],
    rules: { 'no-restricted-syntax': ['error', ...rules] },
  },
  { files: ['libs/time/src/clock.ts'], rules: { 'no-restricted-syntax': 'off' } },
  // DTO classes and injected classes need value imports for their metadata
  { files: ['apps/api/**'], rules: { '@typescript-eslint/consistent-type-imports': 'off' } },
  {
    files: tenantRooms,
    rules: {
      'no-restricted-syntax': [
        'error',
        ...[...rules, noEnvironment, ...noLiteralWords, ...noLiteralReasons, noFaultyParse],
      ],
    },
  },
  {
    files: requestRooms,
    ignores: parsesForGraphs,
    rules: {
      'no-restricted-syntax': [
        'error',
        ...rules,
        ...[noEnvironment, ...noLiteralWords, ...noLiteralReasons, noUnboundedParse],
      ],
    },
  },
  // One conversation with the database a file; what rows look like stands in row/
  {
    files: ['apps/agent-server/src/store/*/*.ts'],
    ignores: ['apps/agent-server/src/store/row/**'],
    rules: {
      'no-restricted-syntax': [
        'error',
        ...[...rules, noEnvironment, noStatementWithoutScope, noUnboundedParse],
      ],
    },
  },
  // it parses in the process of the graphs
  {
    files: ['apps/agent-server/src/store/checkpoint/*.ts'],
    rules: { 'no-restricted-syntax': ['error', ...rules, noEnvironment, noStatementWithoutScope] },
  },
  {
    files: ['apps/agent-server/src/**/*.ts'],
    ignores: ['apps/agent-server/src/store/{sql,database}.ts'],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          paths: ['openPool', 'openConnection', 'inTransaction'].map((name) => ({
            name: '#lib/postgres',
            importNames: [name],
            message: 'Statements go through store/sql.ts, which asks for a Scope.',
          })),
        },
      ],
    },
  },
  {
    files: ['apps/api/src/**/*.ts'],
    ignores: ['**/*.d.ts'],
    rules: {
      '@typescript-eslint/no-restricted-imports': [
        'error',
        {
          paths: [
            {
              name: 'class-validator',
              allowTypeImports: true,
              message: 'Its index costs 7 MB; import the file of the part (wire/class-validator-parts.d.ts).',
            },
          ],
        },
      ],
    },
  },
  {
    files: tests,
    rules: {
      'comments/whole-sentences': 'off',
      'max-statements': 'off',
      'max-lines': ['error', { max: 800, skipBlankLines: true, skipComments: true }],
      'no-restricted-syntax': ['error', ...testNames],
      'no-restricted-imports': 'off',
      'no-console': 'off',
    },
  },
  // written as authors of agents write: a file of components has a default export
  {
    files: ['examples/**/*.{ts,tsx}', 'test/conformance/agent-server/agent/*.tsx'],
    languageOptions: { parser: tseslint.parser },
    rules: { eqeqeq: 'error', 'no-var': 'error', 'prefer-const': 'error', 'no-eval': 'error' },
  },
  // not ignored: a check that names each changed file would warn of it
  {
    files: ['**/generated/**/*.ts'],
    processor: { meta: { name: 'generated', version: '1' }, preprocess: () => [], postprocess: () => [] },
  },
);
