import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import type { Condition } from './generated/shared.js';
import { exportStatusReason, statusReason } from './status-reason.js';

function condition(type: string, status: Condition['status'], reason: string): Condition {
  return { type, status, reason, message: `${reason} in words`, lastTransitionTime: '2026-01-01T00:00:00Z' };
}

const CRDS = 'crds';
const READY = '.status.conditions[?(@.type=="Ready")]';

describe('statusReason', () => {
  it('returns reason and message of Ready whatever its status', () => {
    for (const status of ['True', 'False', 'Unknown'] as const) {
      const conditions = [condition('Built', 'True', 'Image'), condition('Ready', status, 'Deploying')];
      expect(statusReason({ status: { conditions } })).toEqual({
        reason: 'Deploying',
        message: 'Deploying in words',
      });
    }
  });

  it('returns the failure of the passes over a resource that is not ready', () => {
    const failing = condition('ReconcileFailing', 'True', 'ReconcileFailed');
    const told = (ready: Condition['status']) =>
      statusReason({ status: { conditions: [condition('Ready', ready, 'Pending'), failing] } })?.reason;
    expect([told('Unknown'), told('False'), told('True')]).toEqual([
      'ReconcileFailed',
      'ReconcileFailed',
      'Pending',
    ]);
    expect(statusReason({ status: { conditions: [failing] } })?.reason).toBe('ReconcileFailed');
  });

  it('returns nothing before the first report', () => {
    expect(statusReason({})).toBeUndefined();
    expect(statusReason({ status: { conditions: [condition('Built', 'True', 'Image')] } })).toBeUndefined();
  });

  it.each(readdirSync(CRDS).filter((name) => name.includes('agentplane.dev_')))(
    'reads the condition that the printer columns of %s show',
    (name) => {
      const crd = parse(readFileSync(`${CRDS}/${name}`, 'utf8')) as {
        spec: { versions: { additionalPrinterColumns: { name: string; jsonPath: string }[] }[] };
      };
      const columns = crd.spec.versions[0]?.additionalPrinterColumns ?? [];
      const pathOf = (column: string) => columns.find((one) => one.name === column)?.jsonPath;
      expect(pathOf('Reason')).toBe(`${READY}.reason`);
      expect(pathOf('Message')).toBe(`${READY}.message`);
    },
  );
});

describe('exportStatusReason', () => {
  const underWay = [condition('Ready', 'True', 'Started')];

  it('reports a requested cancellation before the controller has acted', () => {
    expect(exportStatusReason({ spec: { cancel: true }, status: { conditions: underWay } })).toEqual({
      reason: 'Cancelled',
      message: 'cancellation requested',
    });
  });

  it('keeps the reason of an export that completed before it was cancelled', () => {
    const conditions = [condition('Completed', 'True', 'Completed'), condition('Ready', 'True', 'Completed')];
    expect(exportStatusReason({ spec: { cancel: true }, status: { conditions } })?.reason).toBe('Completed');
  });
});
