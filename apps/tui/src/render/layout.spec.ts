import { windowOf } from './fit.js';

describe('windowOf', () => {
  it.each([
    ['everything when it fits', 3, 5, 2, 0, [0, 3]],
    ['the beginning', 20, 5, 0, 0, [0, 5]],
    ['the same places while the selected one is among them', 20, 5, 10, 7, [7, 12]],
    ['one place further when the selected one is behind them', 20, 5, 12, 7, [8, 13]],
    ['the selected one first when it lies before them', 20, 5, 3, 7, [3, 8]],
    ['the end', 20, 5, 19, 0, [15, 20]],
    ['the last places of a list that became shorter', 6, 5, 5, 15, [1, 6]],
    ['where it was when none is selected', 20, 5, -1, 4, [4, 9]],
    ['nothing when there is no room', 20, 0, 3, 0, [3, 3]],
  ])('shows %s', (_name, length, height, selected, before, [start, end]) => {
    expect(windowOf(length, height, selected, before)).toEqual({ start, end });
  });
});
