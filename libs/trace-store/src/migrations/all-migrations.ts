import type { Migration } from '#lib/postgres';
import { firstSchema } from './0001-first-schema.js';

/** In order; numbers without gaps. */
export const MIGRATIONS: readonly Migration[] = [firstSchema];
