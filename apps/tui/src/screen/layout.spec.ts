import { displayWidth, fit } from '../render/fit.js';
import { ProgressMemory } from '../rows/progress-memory.js';
import { SCENE, SCENE_NOW } from '../testdata/scene.js';
import { VIEWS } from '../views/all-views.js';
import { CELL_GAP, placeColumns, WidthMemory } from './layout.js';
import { columnsOf } from './row-texts.js';

const LOOK = { now: SCENE_NOW, nowMs: 0, progress: new ProgressMemory(), barWidth: 16 };

describe('placeColumns', () => {
  it.each(VIEWS.map((view) => [view.name, view] as const))(
    'fits %s into 60 to 300 columns, however far they are moved aside',
    (_name, view) => {
      const items = view.source.kind === 'kube' ? (SCENE[view.source.ref.plural] ?? []) : [];
      const shown = items.filter((item) => view.isOf?.(item) ?? true);
      for (const isWide of [false, true]) {
        const columns = columnsOf(view, { isWide, isQualified: true });
        const widths = new WidthMemory();
        widths.note(
          columns,
          shown.map((item) => columns.map((column) => column.cell(item, LOOK))),
        );
        for (let width = 60; width <= 300; width++)
          for (let shift = 0; shift < columns.length - 3; shift++) {
            const { placed, beyond } = placeColumns(columns, widths, { width, shift, fixed: 3 });
            const used = placed.reduce((sum, one) => sum + one.width + CELL_GAP, -CELL_GAP);
            expect(used).toBeLessThanOrEqual(width);
            expect(placed.length + beyond).toBe(columns.length - shift);
            expect(placed.map(({ column }) => column.heading)).toContain('STATE');
          }
      }
    },
  );
});

describe('fit', () => {
  it.each([
    ['pads wide characters by the columns they take', '日本', 6, '日本  '],
    ['cuts none of them in two', '日本語', 4, '日… '],
    ['counts a picture as two columns', '🙂x', 4, '🙂x '],
    ['counts what is written above a letter as none', 'e\u0301x', 3, 'e\u0301x '],
  ])('%s', (_name, text, width, expected) => {
    expect(fit(text, width)).toBe(expected);
    expect(displayWidth(fit(text, width))).toBe(width);
  });

  it('aligns to the right', () => expect(fit('12', 4, 'right')).toBe('  12'));
});
