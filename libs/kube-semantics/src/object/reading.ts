export { at, listAt, numberAt, own, recordAt, textAt, textsAt } from '#lib/json';
