import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import { isOfSession, originOf } from './process-status.js';

describe('isOfSession', () => {
  (process.platform === 'linux' ? it : it.skip)(
    'separates a session from a later one whose leader has the same number',
    async () => {
      const line = 'sleep 1000 > /dev/null & echo $!; exec sleep 1000';
      const leader = spawn('sh', ['-c', line], { detached: true, stdio: ['ignore', 'pipe', 'ignore'] });
      const pid = leader.pid ?? 0;
      try {
        const [text] = (await once(leader.stdout, 'data')) as [Buffer];
        const member = Number(text.toString());
        const startedTicks = originOf(pid)?.startedTicks ?? 0;
        const isMember = (ticks: number): boolean | undefined => {
          const origin = originOf(member);
          return origin && isOfSession(origin, { pid, startedTicks: ticks });
        };
        expect([isMember(startedTicks), isMember(startedTicks - 1)]).toEqual([true, false]);
        leader.kill('SIGKILL');
        await once(leader, 'exit');
        expect(isMember(startedTicks)).toBe(true);
      } finally {
        process.kill(-pid, 'SIGKILL');
      }
    },
  );
});
