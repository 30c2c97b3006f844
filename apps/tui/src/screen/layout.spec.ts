import { displayWidth, fit } from '../render/fit.js';
import { ProgressMemory } from '../rows/progress-memory.js';
import { SCENE, SCENE_NOW } from '../testdata/scene.js';
import { VIEWS } from '../views/all-views.js';
import { CELL_GAP, placeColumns, WidthMemory } from './layout.js';
import { layHelp } from './help.js';
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

describe('columns of wide terminals', () => {
  it('places further columns where the others leave space for all of their text', () => {
    const [view] = VIEWS;
    if (!view) throw new Error('there is no view');
    const all = columnsOf(view, { isWide: true, isQualified: false });
    const columns = all.filter(({ isWide }) => !isWide);
    const spare = all.filter(({ isWide }) => isWide);
    const widths = new WidthMemory();
    widths.note(all, [all.map(() => 'x'.repeat(20))]);
    const placed = (width: number): number =>
      placeColumns(columns, widths, { width, shift: 0, fixed: 2, spare }).placed.length;
    expect(placed(columns.length * 22)).toBe(columns.length);
    expect(placed(columns.length * 22 + 22)).toBe(columns.length + 1);
    expect(placed(columns.length * 22 + 500)).toBe(all.length);
  });
});

describe('the help', () => {
  const entries = Array.from({ length: 70 }, (_, at) => ({ label: String(at), about: 'what it does' }));

  it.each([
    [60, 1, 70],
    [80, 2, 35],
    [120, 3, 24],
    [200, 5, 14],
  ])('has at %i columns %i beside one another', (width, count, height) => {
    const laid = layHelp(entries, width);
    expect([laid.length, laid[0]?.length]).toEqual([count, height]);
  });

  it('breaks long words about a key, and cuts none', () => {
    const about = 'go to a view by its name, which Tab completes, in a namespace or in all';
    const [lines = []] = layHelp([{ label: ':', about }], 38);
    expect(lines.length).toBeGreaterThan(1);
    expect(lines.map(({ text }) => text.trim().replace(/^: +/, '')).join(' ')).toBe(about);
    for (const { text } of lines) expect(displayWidth(text)).toBeLessThan(38);
  });
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
