import {
  Column,
  CreateDateColumn,
  Entity,
  Index,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  Unique,
  UpdateDateColumn,
} from 'typeorm';

/** A row of `projects`. The table is made by a migration; a test holds the two together. */
@Entity({ name: 'projects' })
@Index('projects_dataset', ['tenantId', 'referenceDatasetId'], {
  where: '(reference_dataset_id IS NOT NULL)',
})
@Unique('projects_tenant_id_name_key', ['tenantId', 'name'])
export class ProjectEntity {
  @PrimaryGeneratedColumn('uuid', { primaryKeyConstraintName: 'projects_pkey' })
  id: string;

  @PrimaryColumn('uuid', { name: 'tenant_id', primaryKeyConstraintName: 'projects_pkey' })
  tenantId: string;

  @Column('text')
  name: string;

  @Column('text', { nullable: true })
  description: string | null;

  @Column('text', { nullable: true })
  extra: string | null;

  @Column('timestamptz', { name: 'start_time', nullable: true })
  startTime: Date | null;

  @Column('timestamptz', { name: 'end_time', nullable: true })
  endTime: Date | null;

  @Column('text', { name: 'trace_tier', nullable: true })
  traceTier: string | null;

  @Column('uuid', { name: 'reference_dataset_id', nullable: true })
  referenceDatasetId: string | null;

  @Column('integer', { name: 'test_run_number', nullable: true })
  testRunNumber: number | null;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;

  @UpdateDateColumn({ name: 'updated_at', type: 'timestamptz' })
  updatedAt: Date;
}
