export const WORD = 'shared';
