export const WORD = 'alias';
