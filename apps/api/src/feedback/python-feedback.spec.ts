import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { pythonWith } from '#lib/testing';
import { testApi } from '../testdata/test-api.js';

const SEND_FEEDBACK = join(import.meta.dirname, '..', 'testdata', 'send-feedback.py');
/** A Python with `langsmith`. */
const python = pythonWith('langsmith');

describe('feedback of the Python client', () => {
  const { api, tenant } = testApi();

  if (python)
    it('comes back as it was sent, by itself and in batches', async () => {
      const { stdout, stderr } = await promisify(execFile)(python, [SEND_FEEDBACK, api.url, tenant.key]);
      expect(stderr).toBe('');
      expect(JSON.parse(stdout)).toEqual({
        listed: [
          ['alone', 1, true],
          ['batch', 0.1235, true],
        ],
        comment: 'é',
        models: ['alone'],
        early: true,
        read: [null, { a: 1 }, { e: 1 }, 'model'],
        group: true,
        found: false,
        by_token: [['by token', { page: 1 }]],
        tokens: [2, 3],
        stats: { alone: 1, batch: 1, thumb: 1 },
      });
    });
  else it.skip('needs langsmith: set AGENTPLANE_TEST_PYTHON to a Python that has it', () => undefined);
});
