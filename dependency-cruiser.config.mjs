// The layers of the architecture: imports go down only, apps never import one another, no cycles.
const layer0 = ['errors', 'time', 'admission', 'json', 'url', 'resources', 'filter-language'];
const layer1 = ['otlp', 'manifests', 'graph-configuration', 'reconcile', 'export-plan', 'kube-semantics'];
const pure = [...layer0, ...layer1];
const adaptersOrHigher = `^libs/(?!(${pure.join('|')})/)`;
const outside = 'node_modules/(@nestjs|@kubernetes|pg|pg-copy-streams|typeorm|ink|react|minio|ws)(/|$)';
const node = [
  'fs',
  'net',
  'http',
  'https',
  'tls',
  'child_process',
  'worker_threads',
  'os',
  'dns',
  'fs/promises',
];

export default {
  forbidden: [
    {
      name: 'no-cycles',
      comment: 'A cycle means that two ideas are one, or that one is in the wrong place.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'apps-stand-alone',
      comment: 'Apps never import one another: what two apps need is a library.',
      severity: 'error',
      from: { path: '^apps/([^/]+)/' },
      to: { path: '^apps/', pathNot: '^apps/$1/' },
    },
    {
      name: 'programs-need-no-dev-packages',
      comment: 'The first start builds the sources with what npm ci --omit=dev installs, types included.',
      severity: 'error',
      from: {
        path: '^(apps|libs)/[^/]+/src/',
        pathNot: ['\\.(spec|long)\\.tsx?$', '/testdata/', '^libs/testing/'],
      },
      to: { dependencyTypes: ['npm-dev'] },
    },
    { name: 'libs-below-apps', severity: 'error', from: { path: '^libs/' }, to: { path: '^apps/' } },
    {
      name: 'words-import-words',
      comment: 'Layer 0 imports layer 0 only.',
      severity: 'error',
      from: { path: `^libs/(${layer0.join('|')})/`, pathNot: '\\.(spec|long)\\.ts$' },
      to: { path: `^libs/(?!(${layer0.join('|')})/)` },
    },
    {
      name: 'decisions-are-pure',
      comment: 'Layer 1 imports layers 0 and 1 only.',
      severity: 'error',
      from: { path: `^libs/(${layer1.join('|')})/`, pathNot: '\\.(spec|long)\\.ts$' },
      to: { path: adaptersOrHigher },
    },
    {
      name: 'pure-layers-touch-nothing',
      comment: 'No framework, client or I/O below the adapters.',
      severity: 'error',
      from: { path: `^libs/(${pure.join('|')})/src/`, pathNot: '\\.(spec|long)\\.ts$' },
      to: { path: outside },
    },
    {
      name: 'pure-layers-no-node-io',
      comment: 'ip-address.ts takes the parser of addresses out of node:net, which opens nothing.',
      severity: 'error',
      from: {
        path: `^libs/(${pure.join('|')})/src/`,
        pathNot: ['\\.(spec|long)\\.ts$', '^libs/kube-semantics/src/schema/ip-address\\.ts$'],
      },
      to: { dependencyTypes: ['core'], path: `^(node:)?(${node.join('|')})$` },
    },
    {
      name: 'one-kubernetes-client',
      comment: 'Only libs/kube makes Kubernetes clients.',
      severity: 'error',
      from: { path: '^(apps|libs)/', pathNot: '^libs/kube/' },
      to: { path: 'node_modules/@kubernetes/' },
    },
    {
      name: 'pools-belong-to-schemas',
      comment: 'Database connections are opened by libs/postgres; TypeORM belongs to the trace store.',
      severity: 'error',
      from: {
        path: '^(apps|libs)/',
        pathNot: '^(libs/(postgres|embedded-postgres|testing)/)|\\.(spec|long)\\.ts$|/testdata/',
      },
      to: { path: 'node_modules/(pg|@types/pg|pg-copy-streams)/' },
    },
    {
      name: 'entities-belong-to-the-trace-store',
      severity: 'error',
      from: { path: '^(apps|libs)/', pathNot: '^libs/trace-store/|\\.(spec|long)\\.ts$' },
      to: { path: 'node_modules/typeorm/' },
    },
    {
      name: 'requests-speak-for-callers',
      comment: "A request has the scope of its caller (http/caller-scope.ts), never the server's own.",
      severity: 'error',
      from: { path: '^apps/agent-server/src/http/', pathNot: '\\.(spec|long)\\.ts$' },
      to: { path: '^apps/agent-server/src/store/worker-scope\\.ts$' },
    },
    {
      name: 'testing-is-for-tests',
      severity: 'error',
      from: { path: '^(apps|libs)/', pathNot: '\\.(spec|long)\\.tsx?$|/testdata/|^libs/testing/' },
      to: { path: '^libs/testing/' },
    },
    {
      name: 'one-entry-per-library',
      comment: 'Import a library by its name, #lib/NAME.',
      severity: 'error',
      from: { path: '^(apps|libs)/([^/]+)/' },
      to: { path: '^libs/', pathNot: ['^libs/$2/', '^libs/[^/]+/src/index\\.ts$'] },
    },
    {
      name: 'controllers-without-server',
      comment: 'Cluster controllers are clients: any API server will do.',
      severity: 'error',
      from: { path: '^libs/cluster-controllers/', pathNot: '\\.(spec|long)\\.ts$' },
      to: { path: '^libs/embedded-kube/' },
    },
    {
      name: 'worker-without-kubernetes',
      comment: 'The export worker and the agent server load no Kubernetes code.',
      severity: 'error',
      from: { path: '^apps/(export-worker|agent-server)/', pathNot: '\\.(spec|long)\\.ts$' },
      to: { path: '^libs/(kube|kube-semantics|cluster-controllers|embedded-kube|process-runtime)/' },
    },
    {
      name: 'clients-without-semantics',
      comment:
        'What a server needs to know of objects (rules, schemas, CEL) takes a program 20 MB, also for one small function.',
      severity: 'error',
      from: { path: '^apps/(api|builder|controller|listener)/', pathNot: '\\.(spec|long)\\.ts$|/testdata/' },
      to: { path: '^libs/kube-semantics/' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '(^|/)dist/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['types', 'import', 'node', 'default'],
      extensions: ['.ts', '.tsx', '.js', '.mjs', '.json'],
    },
  },
};
