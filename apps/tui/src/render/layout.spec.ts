import { columnWidths } from './column-widths.js';
import { shareLines, windowOf } from './window.js';

describe('columnWidths', () => {
  const columns = [
    { natural: 30, least: 10 },
    { natural: 10, least: 0 },
    { natural: 20, least: 5 },
  ];
  it.each([
    ['leaves all their room on a wide screen', 80, [30, 10, 20]],
    ['takes from the first that yields', 60, [30, 10, 16]],
    ['then from the next', 40, [21, 10, 5]],
    ['and no more than each can give', 10, [10, 10, 5]],
  ])('%s', (_name, width, expected) => {
    expect(columnWidths(columns, width, [2, 0])).toEqual(expected);
  });
});

describe('windowOf', () => {
  it.each([
    ['everything when it fits', 3, 5, 2, [0, 3]],
    ['the beginning', 20, 5, 0, [0, 5]],
    ['what lies around the selected one', 20, 5, 10, [8, 13]],
    ['the end', 20, 5, 19, [15, 20]],
    ['the beginning when none is selected', 20, 5, -1, [0, 5]],
    ['nothing when there is no room', 20, 0, 3, [3, 3]],
  ])('shows %s', (_name, length, height, selected, [start, end]) => {
    expect(windowOf(length, height, selected)).toEqual({ start, end });
  });
});

describe('shareLines', () => {
  it.each([
    [20, 5, 5, [5, 5]],
    [20, 50, 5, [15, 5]],
    [20, 5, 50, [5, 15]],
    [20, 50, 50, [10, 10]],
    [1, 5, 5, [0, 1]],
  ])('shares %d lines between %d and %d', (space, first, second, expected) => {
    expect(shareLines(space, first, second)).toEqual(expected);
  });
});
