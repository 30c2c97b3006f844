import { getCACertificates, setDefaultCACertificates } from 'node:tls';

/** Has connections of this process trust certificates beside those that it trusts already. @param pem one or more */
export function trustCertificates(pem: string): void {
  setDefaultCACertificates([...getCACertificates('default'), pem]);
}
