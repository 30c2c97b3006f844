import type { KubeObject } from '../object/kube-object.js';

/** The object as the given version shows it. Versions differ in name only (conversion strategy None). */
export function inVersion(object: KubeObject, apiVersion: string): KubeObject {
  return object.apiVersion === apiVersion ? object : { ...object, apiVersion };
}
