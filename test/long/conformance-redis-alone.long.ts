import { testPostgres } from '#lib/testing';
import { checkRedisConformance } from '../conformance/agent-server/redis-replicas.js';

checkRedisConformance(testPostgres(), 1);
