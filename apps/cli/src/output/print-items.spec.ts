import { renderDocument, renderItems } from './print-items.js';

const ODD = { message: '\u001b]0;x\u0007 \u009b31m \u202e \n' };

describe('renderDocument', () => {
  it('shows a terminal nothing that it obeys, in JSON that reads as the same document', async () => {
    const text = await renderDocument({ kind: 'json' }, ODD);
    expect(text).not.toMatch(/[\u001b\u0007\u009b\u202e]/);
    expect(JSON.parse(text)).toEqual(ODD);
  });

  it.each([{ kind: 'yaml' } as const, { kind: 'jsonpath', template: '{.message}' } as const])(
    'shows a terminal nothing that it obeys: $kind',
    async (format) => {
      const { isTTY } = process.stdout;
      try {
        process.stdout.isTTY = true;
        expect(await renderDocument(format, ODD)).not.toMatch(/[\u001b\u0007\u009b\u202e]/);
        process.stdout.isTTY = false;
        expect(await renderDocument(format, ODD)).toContain('\u202e');
      } finally {
        process.stdout.isTTY = isTTY;
      }
    },
  );
});

describe('renderItems', () => {
  it.each([{ kind: 'table' } as const, { kind: 'name' } as const])(
    'shows a terminal nothing that it obeys: $kind',
    async (format) => {
      const shape = { nameOf: () => 'a\u001b[2J\nb', columns: [{ heading: 'X', cell: () => 'a\u001b[2J' }] };
      const text = await renderItems(format, [1], shape);
      expect(text).toContain('a\\u001b[2J');
      expect(text.split('\n').length).toBe(format.kind === 'name' ? 2 : 3);
    },
  );
});
