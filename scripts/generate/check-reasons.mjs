// What the pages say of conditions and reasons must be what the programs write, and the other way round.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const CONSTANTS = 'libs/resources/src/condition-type.ts';
const EVENTS = 'libs/resources/src/event-reason.ts';

/** `{ nameInCode: 'Word' }` of one of the two tables of constants. */
function constants(source, name) {
  const [, body = ''] = new RegExp(`export const ${name} = \\{(.*?)\\n\\} as const`, 's').exec(source) ?? [];
  return new Map([...body.matchAll(/^ {2}(\w+): '(\w+)',/gm)].map(([, key, word]) => [key, word]));
}

function described(text) {
  const reasons = text.conditions.flatMap(({ reasons: own = {}, computed }) => [
    ...Object.keys(own),
    ...(computed ? ['Pending'] : []),
  ]);
  return new Set(reasons);
}

/** What the programs that write the status of a kind mention. */
function mentioned(root, text, table, name) {
  const pattern = new RegExp(`${name}\\.(\\w+)`, 'g');
  const words = text.writers.flatMap((file) =>
    [...readFileSync(join(root, file), 'utf8').matchAll(pattern)].map(([, key]) => table.get(key) ?? key),
  );
  return new Set(words);
}

/** A row `{same: Failed}` stands for the row of the same reason there. */
function brokenLinks(text) {
  return text.conditions.flatMap(({ type, reasons = {} }) =>
    Object.entries(reasons)
      .filter(([reason, { same }]) => {
        const there = text.conditions.find((one) => one.type === same)?.reasons?.[reason];
        return same !== undefined && there?.means === undefined;
      })
      .map(([reason]) => `${text.kind}: ${type} ${reason} refers to a row that is not there`),
  );
}

/** @returns one sentence for everything that does not agree */
export function checkReasons(root, texts, { logOnly, everyKind, events: ofEveryKind }) {
  const source = readFileSync(join(root, CONSTANTS), 'utf8');
  const reasons = constants(source, 'REASON');
  const conditions = constants(source, 'CONDITION');
  const events = constants(readFileSync(join(root, EVENTS), 'utf8'), 'EVENT');
  const allEvents = new Set(
    [...texts, { events: ofEveryKind }].flatMap((text) => Object.keys(text.events ?? {})),
  );
  const allReasons = new Set([...texts.flatMap((text) => [...described(text)]), ...Object.keys(logOnly)]);
  const ofKinds = texts.flatMap((text) => text.conditions.map(({ type }) => type));
  const allTypes = new Set([...ofKinds, ...Object.keys(everyKind)]);
  const missing = (words, there, what) =>
    [...words].filter((word) => !there.has(word)).map((word) => `${what} ${word}`);
  return [
    ...missing(
      reasons.values(),
      allReasons,
      `${CONSTANTS}: no page in scripts/reference/ describes the reason`,
    ),
    ...missing(allReasons, new Set(reasons.values()), `scripts/reference/: ${CONSTANTS} has no reason`),
    ...missing(
      conditions.values(),
      allTypes,
      `${CONSTANTS}: no page in scripts/reference/ describes the condition`,
    ),
    ...missing(allTypes, new Set(conditions.values()), `scripts/reference/: ${CONSTANTS} has no condition`),
    ...missing(events.values(), allEvents, `${EVENTS}: no page in scripts/reference/ describes the event`),
    ...missing(allEvents, new Set(events.values()), `scripts/reference/: ${EVENTS} has no event`),
    ...texts.flatMap((text) => {
      const written = mentioned(root, text, reasons, 'REASON');
      const own = described(text);
      const summarized = text.conditions.some(({ computed }) => computed) ? ['Ready', 'Pending'] : [];
      return [
        ...missing(
          written,
          new Set([...own, ...Object.keys(logOnly)]),
          `${text.kind}: its programs write, and its page does not describe,`,
        ),
        ...missing(
          own,
          new Set([...written, ...summarized]),
          `${text.kind}: its page describes, and its programs do not write,`,
        ),
        ...brokenLinks(text),
      ];
    }),
  ];
}
