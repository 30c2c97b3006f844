import { createClient } from '@redis/client';
import { hasRedis, RedisServer } from '../../apps/agent-server/testdata/redis-server.js';
import { checkConformance } from '../conformance/agent-server/conformance.js';
import { deployAgent, type DeployedAgent } from '../conformance/agent-server/deployed.js';
import { newDataFolder, removeDataFolder } from '../support/platform.js';

const dataFolder = newDataFolder();
let redis: RedisServer | undefined;
let agent: DeployedAgent;

beforeAll(async () => {
  if (hasRedis) redis = await RedisServer.start({ password: 'of-the-deployment' });
  agent = await deployAgent(dataFolder, [], {
    resourceSpec: { queue_min_scale: 2 },
    secrets: redis ? [{ name: 'REDIS_URI', value: redis.uri }] : [],
  });
});

afterAll(async () => {
  await agent?.stop();
  await redis?.stop();
  removeDataFolder(dataFolder);
});

/** An agent whose runs have two pods of their own, and a Redis between them and the one that answers. */
checkConformance(() => agent.target, ['guarded', 'key', 'tuned']);

(hasRedis ? it : it.skip)('connects each of its three pods to the Redis of the deployment', async () => {
  const client = createClient({ url: redis?.uri ?? '' });
  await client.connect();
  const channels = await client.sendCommand(['PUBSUB', 'CHANNELS', 'agentplane:*:conformance:output:*']);
  await client.close();
  expect(channels).toHaveLength(3);
});
