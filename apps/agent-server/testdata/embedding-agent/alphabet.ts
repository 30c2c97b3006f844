export const ALPHABET = [...'abcdefghijklmnopqrstuvwxyz'];
