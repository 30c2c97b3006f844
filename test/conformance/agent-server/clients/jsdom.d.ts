/** The little of jsdom that is used; its own types would give all programs the globals of pages. */
declare module 'jsdom' {
  export class JSDOM {
    constructor(html: string, options: { readonly url: string });
    readonly window: { readonly document: { createElement(name: string): Element } };
  }
}
