import { Check, Column, CreateDateColumn, Entity, Index, PrimaryColumn } from 'typeorm';
import type { ApiKeyKind } from '#lib/auth';

/** A row of `api_keys`. The table is made by a migration; a test holds the two together. */
@Entity({ name: 'api_keys' })
@Index('api_keys_tenant', ['tenantId', 'createdAt'])
@Check('api_keys_kind_check', `kind IN ('person', 'deployment')`)
export class ApiKeyEntity {
  @PrimaryColumn('text', { primaryKeyConstraintName: 'api_keys_pkey' })
  id: string;

  @Column('uuid', { name: 'tenant_id' })
  tenantId: string;

  @Column('text')
  name: string;

  @Column('text')
  kind: ApiKeyKind;

  @Column('text', { nullable: true })
  deployment: string | null;

  @Column('bytea', { select: false })
  hash: Buffer;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;

  @Column('timestamptz', { name: 'last_used_at', nullable: true })
  lastUsedAt: Date | null;

  @Column('timestamptz', { name: 'revoked_at', nullable: true })
  revokedAt: Date | null;
}
