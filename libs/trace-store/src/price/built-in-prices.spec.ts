import { beforeAll, describe, expect, it } from '@jest/globals';
import { parseInstant } from '#lib/time';
import { BUILT_IN_PRICES } from './price-lists.js';
import { PriceBook } from './price-book.js';

const IDS = ['b4ddde66-3d0d-8c3f-830f-20657f479726', '3209defb-a517-88cd-812e-b0fd152a7119'];

const at = (iso: string) => parseInstant(iso, { zone: 'optional' }) ?? 0n;

describe('prices of the platform', () => {
  let book: PriceBook;

  beforeAll(async () => {
    book = PriceBook.of(BUILT_IN_PRICES);
  });

  it.each([
    ['gemini-2.5-flash', '2026-11-01', 'gemini-2.5-flash', '0.0000003'],
    ['models/gemini-2.5-flash', '2026-11-01', 'gemini-2.5-flash', '0.0000003'],
    ['publishers/google/models/gemini-2.5-flash-001', '2026-11-01', 'gemini-2.5-flash', '0.0000003'],
    ['google/gemini-2.5-flash-lite', '2026-11-01', 'gemini-2.5-flash-lite', '0.0000001'],
    ['gemini-3.1-flash-lite-preview', '2026-11-01', 'gemini-3.1-flash-lite', '0.00000025'],
    ['gemini-3.8-flash', '2026-12-31T23:59:59Z', 'gemini-3.8-flash', '0.00000075'],
    ['gemini-3.8-flash', '2027-01-01', 'gemini-3.8-flash', '0.0000015'],
    ['gpt-4o-2024-11-20', '2026-11-01', 'gpt-4o', '0.0000025'],
    ['azure/gpt-4o', '2026-11-01', 'gpt-4o', '0.0000025'],
    ['openrouter/openai/gpt-5.2', '2026-11-01', 'gpt-5.2', '0.00000175'],
    ['o3-2025-04-16', '2025-06-01', 'o3', '0.00001'],
    ['o3-2025-04-16', '2026-11-01', 'o3', '0.000002'],
    ['text-embedding-3-small', '2026-11-01', 'text-embedding-3-small', '0.00000002'],
    ['claude-3-5-sonnet-20241022', '2025-01-01', 'claude-3.5-sonnet', '0.000003'],
    ['us.anthropic.claude-3-7-sonnet-20250219-v1:0', '2025-06-01', 'claude-3.7-sonnet', '0.000003'],
    ['vertex_ai/claude-3-5-sonnet-v2@20241022', '2025-01-01', 'claude-3.5-sonnet', '0.000003'],
    ['claude-sonnet-4-20250514', '2025-08-01', 'claude-sonnet-4', '0.000003'],
    ['claude-sonnet-5-5', '2026-11-01', 'claude-sonnet-5.5', '0.000002'],
    ['mistral/mistral-large-2512', '2026-11-01', 'mistral-large-3', '0.0000005'],
    ['deepseek-chat', '2026-01-01', 'deepseek-chat', '0.00000028'],
    ['xai/grok-4.5', '2026-11-01', 'grok-4.5', '0.000002'],
    ['llama-3.3-70b-versatile', '2026-11-01', 'groq/llama-3.3-70b-versatile', '0.00000059'],
    [
      'groq/meta-llama/llama-4-scout-17b-16e-instruct',
      '2026-11-01',
      'groq/llama-4-scout-17b-16e-instruct',
      '0.00000011',
    ],
    ['us.meta.llama3-3-70b-instruct-v1:0', '2026-11-01', 'meta.llama3-3-70b-instruct', '0.00000072'],
  ])('gives %s of %s the row %s', async (model, time, name, promptCost) => {
    const one = { model, modelMember: undefined, provider: undefined };
    await book.learn([one]);
    expect(book.find(one, at(time))).toMatchObject({ name, promptCost });
  });

  it.each([
    'gpt-4o-2024-05-13',
    'azure/eu/gpt-4o',
    'meta-llama/llama-4-scout-17b-16e-instruct',
    'gemini-2.5-flash-image',
    'gemini-2.5-flash-preview-04-17',
  ])('has none for %s, whose price is another', async (model) => {
    const one = { model, modelMember: undefined, provider: undefined };
    await book.learn([one]);
    expect(book.find(one, at('2026-11-01'))).toBeUndefined();
  });

  it.each([
    ['gemini-2.5-pro', 200_000, '0.00000125', '0.0000025'],
    ['gpt-5.5', 272_000, '0.000005', '0.00001'],
  ])('prices prompts of %s by their length', async (model, most, short, long) => {
    const one = { model, modelMember: undefined, provider: undefined };
    await book.learn([one]);
    const costs = [0, most, most + 1].map((tokens) => book.find(one, at('2026-11-01'), tokens)?.promptCost);
    expect(costs).toEqual([short, short, long]);
  });

  it('keeps the ids of rows, which workspaces have versions of', () => {
    const ids = BUILT_IN_PRICES.filter(({ name }) => ['gpt-4o', 'claude-opus-4.1'].includes(name));
    expect(ids.map(({ id }) => id)).toEqual(IDS);
  });

  it('names the pages of each row and when they were read', () => {
    for (const { sources, readOn } of BUILT_IN_PRICES) {
      expect(sources?.length).toBeGreaterThan(0);
      expect(readOn).toMatch(/^2026-\d\d-\d\d$/);
    }
  });
});
