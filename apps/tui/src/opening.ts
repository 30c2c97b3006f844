/** Shown on a terminal while the program loads, which takes seconds on a busy machine. */
export const OPENING = 'Opening the dashboard …';

/** Takes it off the screen again. */
export const OPENED = '\r\u001b[K';
