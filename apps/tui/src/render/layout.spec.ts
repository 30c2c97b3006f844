import { windowOf } from './window.js';

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
