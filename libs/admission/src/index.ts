/** Shares a limited number of units among owners: work at once, connections or bytes. Callers wait fairly or are refused. */
export { Admission, type AdmissionLimits, type Place } from './admission.js';
