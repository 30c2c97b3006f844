/** A list price as its documentation states it: dollars for a million tokens. */
export interface BuiltInRow {
  readonly name: string;
  /** RE2 of the names of the model: its own, its dated ones, and those of platforms that sell it. */
  readonly pattern: string;
  readonly input: number;
  readonly output: number;
  /** By kind of tokens, as clients count them in `input_token_details`. */
  readonly inputDetails?: Readonly<Record<string, number>>;
  readonly outputDetails?: Readonly<Record<string, number>>;
  /** From when on; absent: always. */
  readonly from?: string;
  /** Pages that state these prices. */
  readonly sources: readonly string[];
  /** When they were read, YYYY-MM-DD. */
  readonly readOn: string;
}

const READ_ON = '2026-11-22';

const CLAUDE_PRICES = 'https://platform.claude.com/docs/en/about-claude/pricing';
/** Restates the factors by which the prices of caching follow from that of input. */
const CLAUDE_FACTORS = 'https://docs.rs/synaps/0.10.2/synaps_cli/pricing/index.html';
const openAiModel = (model: string): string => `https://developers.openai.com/api/docs/models/${model}`;

interface ClaudePrices {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly from?: string;
  readonly sources?: readonly string[];
}

/** @param model as in `claude-MODEL-20250929`, `us.anthropic.claude-MODEL-20250929-v1:0` and `claude-MODEL@20250929` */
function claude(
  model: string,
  { input, output, cacheRead, from, sources = [CLAUDE_PRICES] }: ClaudePrices,
): BuiltInRow {
  return {
    name: `claude-${model}`,
    pattern: `^(?:anthropic/|(?:[a-z-]+\\.)?anthropic\\.)?claude-${model.replace('.', '[.-]')}(?:[-@]\\d{8})?(?:-latest)?(?:-v\\d(?::\\d)?)?$`,
    ...{ input, output },
    inputDetails: {
      cache_read: cacheRead,
      // a quarter more for five minutes, twice as much for an hour
      cache_creation: input * 1.25,
      ephemeral_5m_input_tokens: input * 1.25,
      ephemeral_1h_input_tokens: input * 2,
    },
    ...(from === undefined ? {} : { from }),
    ...{ sources, readOn: READ_ON },
  };
}

interface OpenAiPrices {
  readonly input: number;
  readonly output: number;
  readonly cached?: number;
  /** RE2 of the dates of its snapshots, where others have other prices. */
  readonly dates?: string;
  readonly sources?: readonly string[];
}

/** @param model as in `MODEL`, `MODEL-2025-08-07` and `openai/MODEL` */
function openAi(
  model: string,
  { input, output, cached, dates = '\\d{4}-\\d{2}-\\d{2}', sources = [openAiModel(model)] }: OpenAiPrices,
): BuiltInRow {
  return {
    name: model,
    pattern: `^(?:openai/)?${model.replaceAll('.', '\\.')}(?:-${dates})?$`,
    ...{ input, output },
    ...(cached === undefined ? {} : { inputDetails: { cache_read: cached } }),
    ...{ sources, readOn: READ_ON },
  };
}

/** Quotes the vendor's own page, ai.google.dev/gemini-api/docs/pricing, as it was on 2026-10-07. */
const GEMINI_QUOTES =
  'https://raw.githubusercontent.com/api-evangelist/deepmind/refs/heads/main/plans/deepmind-plans-pricing.yml';
const GEMINI_LIST = 'https://raw.githubusercontent.com/simonw/llm-prices/main/data/google.json';

interface GeminiPrices {
  readonly input: number;
  readonly output: number;
  readonly cached?: number;
  readonly audio?: number;
  /** RE2 of what follows the name of the same model. */
  readonly suffix?: string;
  readonly from?: string;
  readonly sources: readonly string[];
}

/** @param model as in `MODEL`, `MODEL-001`, `models/MODEL` and `google/MODEL` */
function gemini(
  model: string,
  { input, output, cached, audio, suffix = '-\\d{3}', from, sources }: GeminiPrices,
): BuiltInRow {
  const details = {
    ...(cached === undefined ? {} : { cache_read: cached }),
    ...(audio === undefined ? {} : { audio }),
  };
  return {
    name: model,
    pattern: `^(?:google/|(?:publishers/google/)?models/)?${model.replaceAll('.', '\\.')}(?:${suffix})?$`,
    ...{ input, output },
    ...(Object.keys(details).length === 0 ? {} : { inputDetails: details }),
    ...(from === undefined ? {} : { from }),
    ...{ sources, readOn: '2026-11-23' },
  };
}

/** The page of one model, and the line of the current ones. */
const claudeModel = (model: string): string =>
  `https://platform.claude.com/docs/zh-CN/models/${model}/overview`;
const CLAUDE_LINE = 'https://platform.claude.com/docs/about-claude/models/whats-new-opus-5';

/**
 * List prices of well-known models. A row is here only where documentation states its prices, and where they do not
 * depend on the length of a prompt: such models have no row, and their runs no cost.
 */
export const BUILT_IN_ROWS: readonly BuiltInRow[] = Object.freeze([
  claude('fable-5.1', { input: 10, output: 50, cacheRead: 0.25 }),
  claude('fable-5', { input: 10, output: 50, cacheRead: 1 }),
  claude('opus-5.5', {
    ...{ input: 4, output: 20, cacheRead: 0.2 },
    sources: [CLAUDE_LINE, CLAUDE_FACTORS],
  }),
  claude('opus-5', { input: 5, output: 25, cacheRead: 0.5 }),
  claude('opus-4.8', { input: 5, output: 25, cacheRead: 0.5 }),
  claude('opus-4.7', { input: 5, output: 25, cacheRead: 0.5 }),
  claude('opus-4.6', { input: 5, output: 25, cacheRead: 0.5 }),
  claude('opus-4.5', { input: 5, output: 25, cacheRead: 0.5 }),
  claude('opus-4.1', { input: 15, output: 75, cacheRead: 1.5 }),
  claude('sonnet-5.5', {
    ...{ input: 2, output: 10, cacheRead: 0.2 },
    sources: [claudeModel('sonnet-5-5')],
  }),
  claude('sonnet-5.5', {
    ...{ input: 2, output: 10, cacheRead: 0.1, from: '2026-10-07T00:00:00Z' },
    sources: [claudeModel('sonnet-5-5'), 'https://github.com/kurofune/claudit/releases/tag/v1.9.2'],
  }),
  claude('sonnet-5', { input: 2, output: 10, cacheRead: 0.2, sources: [claudeModel('sonnet-5')] }),
  claude('sonnet-4.6', {
    ...{ input: 3, output: 15, cacheRead: 0.3 },
    sources: [claudeModel('sonnet-4-6'), CLAUDE_FACTORS],
  }),
  claude('sonnet-4.5', {
    ...{ input: 3, output: 15, cacheRead: 0.3 },
    sources: [claudeModel('sonnet-4-5'), CLAUDE_FACTORS],
  }),
  claude('haiku-4.5', {
    ...{ input: 1, output: 5, cacheRead: 0.1 },
    sources: [claudeModel('haiku-4-5'), CLAUDE_FACTORS],
  }),
  openAi('gpt-5.1', { input: 1.25, output: 10, cached: 0.125 }),
  openAi('gpt-5', {
    ...{ input: 1.25, output: 10, cached: 0.125 },
    sources: [
      ...[openAiModel('gpt-5.1'), 'https://docs.rs/crate/openai-cost/latest/source/src/pricing.rs'],
      'https://docs.rs/crate/adk-model/latest/source/src/openai/pricing.rs',
    ],
  }),
  openAi('gpt-5-codex', { input: 1.25, output: 10, cached: 0.125 }),
  openAi('gpt-5-mini', {
    ...{ input: 0.25, output: 2, cached: 0.025 },
    sources: ['https://github.com/github/docs/blob/main/data/tables/copilot/models-and-pricing.yml'],
  }),
  openAi('gpt-5-nano', { input: 0.05, output: 0.4, cached: 0.005 }),
  openAi('gpt-4.1', {
    ...{ input: 2, output: 8, cached: 0.5 },
    sources: ['https://github.com/github/docs/blob/main/data/tables/copilot/models-and-pricing.yml'],
  }),
  openAi('gpt-4.1-mini', {
    ...{ input: 0.4, output: 1.6, cached: 0.1 },
    sources: ['https://vercel.com/ai-gateway/models/gpt-4.1-mini/api'],
  }),
  openAi('gpt-4o', {
    // that of May 2024 costs twice as much
    ...{ input: 2.5, output: 10, cached: 1.25, dates: '2024-(?:08-06|11-20)' },
    sources: [
      'https://vercel.com/ai-gateway/models/gpt-4o.md',
      'https://github.com/CommitBrief/commitbrief/wiki/Provider-OpenAI',
    ],
  }),
  openAi('gpt-4o-mini', {
    ...{ input: 0.15, output: 0.6, cached: 0.075 },
    sources: ['https://github.com/CommitBrief/commitbrief/wiki/Provider-OpenAI'],
  }),
  openAi('gpt-4', { input: 30, output: 60 }),
  openAi('o1', {
    ...{ input: 15, output: 60, cached: 7.5 },
    sources: [
      'https://community.openai.com/t/how-to-correct-compute-the-cost-of-an-o1-model-api-call/1099176/2',
    ],
  }),
  openAi('o4-mini', {
    ...{ input: 1.1, output: 4.4, cached: 0.275 },
    sources: ['https://vercel.com/ai-gateway/models/o4-mini.md', 'https://www.helicone.ai/model/o4-mini'],
  }),
  // models of the line Pro cost more for prompts beyond 200,000 tokens: none has a row
  gemini('gemini-3.8-flash', { input: 0.75, output: 3.75, sources: [GEMINI_QUOTES] }),
  gemini('gemini-3.8-flash', {
    ...{ input: 1.5, output: 7.5, from: '2027-01-01T00:00:00Z', sources: [GEMINI_QUOTES] },
  }),
  gemini('gemini-3.6-flash', { input: 1.5, output: 7.5, cached: 0.15, sources: [GEMINI_LIST] }),
  gemini('gemini-3.5-flash', {
    ...{ input: 1.5, output: 9, cached: 0.15, sources: [GEMINI_QUOTES, GEMINI_LIST] },
  }),
  gemini('gemini-3.5-flash-lite', {
    ...{ input: 0.3, output: 2.5, cached: 0.03, sources: [GEMINI_QUOTES, GEMINI_LIST] },
  }),
  gemini('gemini-3.1-flash-lite', {
    ...{ input: 0.25, output: 1.5, cached: 0.025, audio: 0.5, suffix: '-preview|-\\d{3}' },
    sources: [GEMINI_LIST, 'https://macaron.im/blog/gemini-flash-lite-pricing'],
  }),
  gemini('gemini-2.5-flash', {
    ...{ input: 0.3, output: 2.5, cached: 0.03, audio: 1, suffix: '-preview-09-2025|-\\d{3}' },
    sources: [GEMINI_QUOTES, GEMINI_LIST],
  }),
  gemini('gemini-2.5-flash-lite', {
    ...{ input: 0.1, output: 0.4, cached: 0.01, audio: 0.3 },
    sources: [
      ...[GEMINI_QUOTES, GEMINI_LIST],
      'https://openrouter.ai/google/gemini-2.5-flash-lite-preview-06-17/providers',
    ],
  }),
]);
