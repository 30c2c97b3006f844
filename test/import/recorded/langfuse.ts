/** Answers of Langfuse 4, in the shapes of `langfuse` 5.0 (PyPI, `langfuse.api`). */

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const LONG = 'm'.repeat(300);

const observation = (id: string, second: number, more: object): object => ({
  id,
  traceId: TRACE,
  projectId: 'p1',
  parentObservationId: 'b7ad6b7169203331',
  startTime: `2026-06-01T00:00:0${second}.000Z`,
  endTime: `2026-06-01T00:00:0${second}.500Z`,
  type: 'SPAN',
  level: 'DEFAULT',
  environment: 'production',
  userId: 'ann',
  sessionId: 'talk',
  metadata: {},
  tags: ['vip'],
  ...more,
});

const FIRST = [
  observation('b7ad6b7169203331', 0, {
    parentObservationId: null,
    type: 'AGENT',
    name: 'support',
    input: '{"question":"why?"}',
    output: 'because',
    metadata: { long: LONG },
  }),
  observation('b7ad6b7169203332', 1, {
    type: 'GENERATION',
    name: 'answer',
    model: 'gpt',
    input: [{ role: 'user', content: 'why?' }],
    output: { role: 'assistant', content: 'because' },
    completionStartTime: '2026-06-01T00:00:01.250Z',
    usageDetails: { input: 10, output: 4, total: 14, input_cached_tokens: 3 },
    costDetails: { input: 0.1, output: 0.2, total: 0.3 },
    promptName: 'greeting',
    promptVersion: 2,
  }),
];
const SECOND = [
  observation('cuid-of-old-times', 2, {
    type: 'TOOL',
    name: 'search',
    level: 'ERROR',
    statusMessage: 'no route',
  }),
];

const score = (id: string, dataType: string, value: unknown, kind: string, of: string): object => ({
  id,
  projectId: 'p1',
  name: id,
  dataType,
  value,
  source: 'ANNOTATION',
  environment: 'production',
  ...{
    timestamp: '2026-06-02T00:00:00Z',
    createdAt: '2026-06-02T00:00:00Z',
    updatedAt: '2026-06-02T00:00:00Z',
  },
  comment: 'fine',
  metadata: {},
  subject: { kind, id: of },
});
const SCORES = [
  score('helpful', 'NUMERIC', 0.5, 'trace', TRACE),
  score('kind', 'BOOLEAN', true, 'observation', 'b7ad6b7169203332'),
  score('tone', 'CATEGORICAL', 'calm', 'observation', 'cuid-of-old-times'),
  score('fixed', 'CORRECTION', 'why not', 'trace', TRACE),
  score('grade', 'NUMERIC', 'high', 'trace', TRACE),
  score('later', 'NUMERIC', null, 'trace', TRACE),
  score('talk', 'NUMERIC', 1, 'session', 'talk'),
];

const ITEM = {
  datasetId: 'd1',
  datasetName: 'questions',
  status: 'ACTIVE',
  createdAt: '2026-05-01T00:00:00Z',
};
const ITEMS = [
  { ...ITEM, id: 'one', input: { q: 1 }, expectedOutput: 'yes', metadata: null, sourceTraceId: TRACE },
  { ...ITEM, id: 'two', input: 'plain', expectedOutput: null, metadata: { a: 1 } },
  { ...ITEM, id: 'old', input: {}, expectedOutput: {}, metadata: {}, status: 'ARCHIVED' },
];

/** Values of metadata are cut unless they are asked for by name. */
function shown(observations: readonly object[], expanded: string | null): readonly object[] {
  if (expanded === 'long') return observations;
  return JSON.parse(JSON.stringify(observations).replaceAll(LONG, LONG.slice(0, 200))) as readonly object[];
}

/** Undefined for a path that it does not have. */
export function langfuseAnswer(path: string, query: URLSearchParams): object | undefined {
  const page = { page: 1, limit: 100, totalItems: 3, totalPages: 1 };
  switch (path) {
    case '/api/public/projects':
      return { data: [{ id: 'p1', name: 'shop', metadata: {}, organization: { id: 'o', name: 'us' } }] };
    case '/api/public/v2/observations':
      return query.get('cursor') === 'two'
        ? { data: shown(SECOND, null), meta: {} }
        : { data: shown(FIRST, query.get('expandMetadata')), meta: { cursor: 'two' } };
    case '/api/public/v3/scores':
      return query.get('cursor') === 'more'
        ? { data: SCORES.slice(3), meta: { limit: 100 } }
        : { data: SCORES.slice(0, 3), meta: { limit: 100, cursor: 'more' } };
    case '/api/public/v2/datasets':
      return {
        data: [{ id: 'd1', name: 'questions', description: 'ours', metadata: { of: 'us' } }],
        meta: page,
      };
    case '/api/public/dataset-items':
      return { data: query.get('datasetName') === 'questions' ? ITEMS : [], meta: page };
    case '/api/public/v2/prompts':
      return { data: [], meta: page };
    default:
      return undefined;
  }
}
