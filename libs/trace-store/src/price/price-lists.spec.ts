import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { temporaryFolder } from '#lib/testing';
import { parsePriceLists, readModelPrices } from './price-lists.js';

const MODEL = { name: 'house-1.5', input: 2, output: 10 };
const listed = (model: object, shared: object = {}) => ({ lists: [{ ...shared, models: [model] }] });

describe('a file of prices', () => {
  const path = join(temporaryFolder(), 'prices.json');

  it('has rows with what a list states for all of its models', () => {
    const shared = {
      prefix: '(?:house/)?',
      suffix: '(?:-v\\d)?',
      input_factors: { cache_creation: 1.25 },
      sources: ['https://house.example/prices'],
      read_on: '2026-11-29',
    };
    const model = {
      ...MODEL,
      from: '2026-01-01',
      max_prompt_tokens: 1_000,
      input_details: { cache_read: 0.2 },
    };
    expect(parsePriceLists(listed(model, shared))).toMatchObject([
      {
        name: 'house-1.5',
        matchPattern: '^(?:house/)?house-1[.-]5(?:-v\\d)?$',
        promptCost: '0.000002',
        completionCost: '0.00001',
        promptCostDetails: { cache_creation: '0.0000025', cache_read: '0.0000002' },
        completionCostDetails: undefined,
        maxPromptTokens: 1_000,
        sources: ['https://house.example/prices'],
        readOn: '2026-11-29',
        isBuiltIn: true,
      },
    ]);
  });

  it.each<[why: string, file: unknown, message: string]>([
    ['is no object', [], 'lists should be a list of objects'],
    ['has no models', { lists: [{}] }, 'lists.0.models should be a list of objects'],
    ['has a model without a name', listed({ input: 1, output: 1 }), 'lists.0.models.0.name should be a text'],
    [
      'has a negative price',
      listed({ ...MODEL, input: -1 }),
      'models.0.input should be dollars for a million',
    ],
    [
      'has a price as text',
      listed({ ...MODEL, output: '1' }),
      'models.0.output should be dollars for a million',
    ],
    ['has no price', listed({ name: 'x', output: 1 }), 'models.0.input should be dollars'],
    [
      'has details that are none',
      listed({ ...MODEL, input_details: 1 }),
      'input_details should be an object',
    ],
    ['has a start that is no time', listed({ ...MODEL, from: 'May' }), 'models.0.from should be a text'],
    [
      'has an unknown member',
      listed({ ...MODEL, inputs: 1 }),
      'models.0.inputs is no member; known are name,',
    ],
    ['has a model twice', { lists: [{ models: [MODEL, MODEL] }] }, 'house-1.5 is listed twice'],
  ])('refuses one that %s', (_, file, message) => {
    expect(() => parsePriceLists(file)).toThrow(message);
  });

  it('names the path of one that is no JSON or whose pattern cannot be used', async () => {
    await writeFile(path, '{');
    await expect(readModelPrices(path)).rejects.toThrow(`the prices of models in ${path} cannot be used: `);
    await writeFile(path, JSON.stringify(listed({ ...MODEL, pattern: '(' })));
    await expect(readModelPrices(path)).rejects.toThrow('the pattern ^($ of house-1.5 cannot be used: ');
    await writeFile(path, JSON.stringify(listed(MODEL)));
    await expect(readModelPrices(path)).resolves.toHaveLength(1);
  });
});
