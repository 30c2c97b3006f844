import { Check, Column, CreateDateColumn, Entity, Index, PrimaryColumn } from 'typeorm';
import type { KeyScope } from '#lib/auth';

/** A row of `api_keys`. The table is made by a migration; a test holds the two together. */
@Entity({ name: 'api_keys' })
@Index('api_keys_tenant', ['tenantId', 'createdAt'])
@Check('api_keys_scope_check', `scope IN ('workspace', 'deployment', 'ingest', 'read', 'invoke')`)
@Check(
  'api_keys_deployment_check',
  `(scope = 'deployment') = (deployment IS NOT NULL) AND (scope = 'deployment') = (project IS NOT NULL)`,
)
export class ApiKeyEntity {
  @PrimaryColumn('text', { primaryKeyConstraintName: 'api_keys_pkey' })
  id: string;

  @Column('uuid', { name: 'tenant_id' })
  tenantId: string;

  @Column('text')
  name: string;

  @Column('text')
  scope: KeyScope;

  @Column('text', { nullable: true })
  deployment: string | null;

  /** Name of the deployment's tracing project. */
  @Column('text', { nullable: true })
  project: string | null;

  @Column('bytea', { select: false })
  hash: Buffer;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;

  @Column('timestamptz', { name: 'expires_at', nullable: true })
  expiresAt: Date | null;

  @Column('timestamptz', { name: 'last_used_at', nullable: true })
  lastUsedAt: Date | null;

  @Column('timestamptz', { name: 'revoked_at', nullable: true })
  revokedAt: Date | null;
}
