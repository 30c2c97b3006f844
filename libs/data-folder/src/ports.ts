/** Every port of a platform; once chosen they stay, so that addresses do. */
export interface Ports {
  readonly rest: number;
  readonly kube: number;
  readonly objectStore: number;
  readonly postgres: number;
  readonly node: number;
}
