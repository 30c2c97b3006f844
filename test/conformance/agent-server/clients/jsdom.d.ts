/** The little of jsdom that is used; its own types would give all programs the globals of pages. */
declare module 'jsdom' {
  export interface PageElement {
    readonly shadowRoot: PageElement | null;
    readonly textContent: string | null;
    appendChild(child: Element): PageElement;
    cloneNode(): Element;
    querySelector(selector: string): PageElement | null;
    querySelectorAll(selector: string): ArrayLike<PageElement>;
    getAttribute(name: string): string | null;
    click(): void;
    remove(): void;
  }
  export class JSDOM {
    constructor(
      html: string,
      options: { readonly url: string; readonly runScripts: string; readonly resources: string },
    );
    readonly window: {
      readonly Range: {
        readonly prototype: { createContextualFragment(html: string): PageElement };
      };
      readonly document: { createElement(name: string): Element; readonly body: PageElement };
    };
  }
}
