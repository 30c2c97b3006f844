import { Column, CreateDateColumn, Entity, PrimaryColumn } from 'typeorm';
import type { ApiKeyKind } from '#lib/auth';

/** A row of `api_keys`. The table itself is made by the migrations. */
@Entity({ name: 'api_keys', synchronize: false })
export class ApiKeyEntity {
  @PrimaryColumn('text')
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
