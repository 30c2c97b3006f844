import type { TestPostgres } from '#lib/testing';
import { hasRedis, RedisServer } from '../../../apps/agent-server/testdata/redis-server.js';
import { checkConformance } from './conformance.js';
import { Replicas } from './replicas.js';

/** Registers all rows against replicas that share a Redis. Call it once in a file, at its top. */
export function checkRedisConformance(postgres: TestPostgres, count: number): void {
  if (!hasRedis) return it.skip(`${count} with a Redis (left out: no redis-server)`, () => undefined);
  let redis: RedisServer;
  let replicas: Replicas;

  beforeAll(async () => {
    redis = await RedisServer.start();
    replicas = await Replicas.start(postgres, count, { REDIS_URI: redis.uri });
  });

  afterAll(async () => {
    await replicas?.stop();
    await redis?.stop();
  });

  checkConformance(() => replicas.target, ['guarded', 'tuned']);
}
