import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parse } from 'yaml';
import { parseJsonPath } from '#lib/kube-semantics';
import {
  type AgentRevision,
  type BulkExport,
  type BulkExportRun,
  CONDITION,
  exportRunWireStatus,
  exportStatusReason,
  exportWireStatus,
  revisionWireStatus,
  statusReason,
  type Tone,
} from '#lib/resources';
import { itemOf, SITUATIONS } from '../testdata/situations.js';
import type { Item } from '../world/items.js';
import { EXPORT_RUNS } from './all-views.js';
import { EXPORTS, SCHEDULES } from './exports.js';
import { REVISIONS } from './revisions.js';
import type { View } from './view.js';

const CRDS = resolve(import.meta.dirname, '..', '..', '..', '..', 'crds');

/** Text that `kubectl get` shows of a kind under REASON, from the columns of its CRD. */
function kubectlReason(view: View, item: Item): unknown {
  const plural = view.source.kind === 'kube' ? view.source.ref.plural : '';
  const crd = parse(readFileSync(join(CRDS, `agentplane.dev_${plural}.yaml`), 'utf8')) as {
    spec: { versions: { additionalPrinterColumns: { name: string; jsonPath: string }[] }[] };
  };
  const column = crd.spec.versions[0]?.additionalPrinterColumns.find(({ name }) => name === 'Reason');
  return parseJsonPath(column?.jsonPath ?? '')?.find(item)[0];
}

type WireStatus = ReturnType<typeof revisionWireStatus | typeof exportRunWireStatus>;

/** `status_reason` and the status of REST, which only revisions, exports and their runs have. */
function restOf(view: View, item: Item): { reason: string | undefined; status: WireStatus | undefined } {
  if (view === REVISIONS)
    return {
      reason: statusReason(item as BulkExport)?.reason,
      status: revisionWireStatus(item as AgentRevision),
    };
  if (view === EXPORT_RUNS)
    return {
      reason: statusReason(item as BulkExport)?.reason,
      status: exportRunWireStatus(item as BulkExportRun),
    };
  if (view === EXPORTS || view === SCHEDULES) {
    const one = item as BulkExport;
    return { reason: exportStatusReason(one)?.reason, status: exportWireStatus(one) };
  }
  return { reason: statusReason(item as BulkExport)?.reason, status: undefined };
}

/** Tones that a status of REST may have beside it. */
const TONES: Readonly<Record<WireStatus, readonly Tone[]>> = {
  CREATE_FAILED: ['bad'],
  BUILD_FAILED: ['bad'],
  DEPLOY_FAILED: ['bad'],
  FAILED: ['bad'],
  TIMEDOUT: ['bad'],
  CANCELLED: ['quiet'],
  SKIPPED: ['quiet'],
  // nothing is in these
  INTERRUPTED: [],
  UNKNOWN: [],
  // states that wait for a person to act are bad already
  CREATED: ['busy', 'bad'],
  CREATING: ['busy'],
  QUEUED: ['busy'],
  AWAITING_BUILD: ['busy'],
  BUILDING: ['busy'],
  AWAITING_DEPLOY: ['busy'],
  DEPLOYING: ['busy'],
  COMPLETED: ['good'],
  RUNNING: ['busy', 'good', 'quiet'],
  // one that served once stays DEPLOYED, whatever its pods do: the reason says it
  DEPLOYED: ['good', 'bad', 'quiet'],
};

describe('the state of', () => {
  it.each(SITUATIONS.map(([name, ...row]) => [name, row] as const))(
    '%s is the same in REST, kubectl and dashboard',
    (_name, [view, conditions, word, tone, more = {}]) => {
      const item = itemOf(conditions, more);
      const shown = view.state(item);
      expect([shown.word, shown.tone]).toEqual([word, tone]);
      if (item.metadata.deletionTimestamp === undefined) {
        const rest = restOf(view, item);
        expect(rest.reason ?? 'Pending').toBe(word);
        expect(kubectlReason(view, item) ?? 'Pending').toBe(word);
        if (rest.status !== undefined) expect(TONES[rest.status]).toContain(tone);
      }
      // what serves, or is done, says so by Ready alone
      const isReady = conditions[CONDITION.ready]?.[0] === 'True';
      if (tone === 'good') expect(isReady).toBe(true);
    },
  );
});
