/** Audit log of REST and Kubernetes: one writer for both servers. */
export { AuditLog, type AuditLogOptions } from './audit-log.js';
export { shortened, type AuditActor, type AuditRecord } from './audit-record.js';
