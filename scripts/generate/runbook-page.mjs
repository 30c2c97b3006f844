// docs/runbook.md: the alarms of the chart with their steps, between `<!-- alarms -->` and `<!-- end -->`.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

const ALARMS = 'charts/agentplane/files/alerts.yaml';
const STEPS = 'scripts/runbook/alarms.yaml';
const PLACE = /(<!-- alarms -->\n)[^]*?(<!-- end -->)/;

function read(root, path) {
  return readFileSync(join(root, path), 'utf8');
}

function alarmSection({ alert, expr, for: lasting, labels, annotations }, steps) {
  const condition = expr.trim().replaceAll(/\s+/g, ' ');
  const duration = lasting === undefined ? '' : `, for ${lasting}`;
  // labels have values once it fires
  const summary = annotations.summary.replaceAll(/ (?:\(\{\{[^}]*\}\}\)|\{\{[^}]*\}\})/g, '').trim();
  return [
    `### ${alert}`,
    `${labels.severity}: ${summary}. ${annotations.description}`,
    `Fires when \`${condition}\`${duration}.`,
    steps.map((step, at) => `${at + 1}. ${step}`).join('\n'),
  ].join('\n\n');
}

/** @returns the page, and which alarms have no steps or no alarm any more */
export function runbookPage(root) {
  const alarms = parse(read(root, ALARMS));
  const steps = parse(read(root, STEPS));
  const names = alarms.map(({ alert }) => alert);
  const sections = alarms.map((alarm) => alarmSection(alarm, steps[alarm.alert] ?? [])).join('\n\n');
  return {
    page: read(root, 'docs/runbook.md').replace(PLACE, (_, begin, end) => `${begin}\n${sections}\n\n${end}`),
    problems: [
      ...names.filter((name) => !(name in steps)).map((name) => `${STEPS}: no steps for the alarm ${name}`),
      ...Object.keys(steps)
        .filter((name) => !names.includes(name))
        .map((name) => `${STEPS}: ${ALARMS} has no alarm ${name}`),
    ],
  };
}
