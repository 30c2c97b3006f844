import { isUuid, LABEL } from '#lib/resources';

/**
 * Advice on finding the files of a schedule, which has none itself. @param given name or id of the schedule
 */
export function scheduleAdvice(given: string): string {
  const selector = `${LABEL.sourceExport}=${isUuid(given) ? 'NAME' : given}`;
  return `${given} is a schedule, whose files belong to the exports that it makes: "agentplane export list -l ${selector}" lists those`;
}
