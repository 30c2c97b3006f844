import { testPostgres } from '#lib/testing';
import { STREAMING_ROWS } from './conformance.js';
import { checkRedisConformance } from './redis-replicas.js';

checkRedisConformance(testPostgres(), 3, STREAMING_ROWS);
