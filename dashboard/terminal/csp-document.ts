// The document that xterm.js gets. It adds <style> elements and style attributes, which the page's Content-Security-Policy forbids.
// Here the text of its style elements becomes constructed style sheets, and its style attributes are set through the object model:
// both are allowed, since no markup is involved. Upstream: none; xterm.js asks for style-src 'unsafe-inline'.

export interface CspDocument {
  readonly document: Document;
  /** Removes the style sheets. */
  dispose(): void;
}

export function createCspDocument(real: Document): CspDocument {
  const sheets: CSSStyleSheet[] = [];
  const createElement = (tag: string): HTMLElement => {
    if (tag !== 'style') return withStyleAttribute(real.createElement(tag));
    const sheet = new CSSStyleSheet();
    sheets.push(sheet);
    real.adoptedStyleSheets = [...real.adoptedStyleSheets, sheet];
    return standIn(real, sheet);
  };
  const document = new Proxy(real, {
    get: (target, name) => {
      if (name === 'createElement') return createElement;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
    set: (target, name, value) => Reflect.set(target, name, value, target),
  });
  const dispose = (): void => {
    real.adoptedStyleSheets = real.adoptedStyleSheets.filter((each) => !sheets.includes(each));
  };
  return { document, dispose };
}

/** Instead of a <style> element: its text goes to the style sheet. */
function standIn(real: Document, sheet: CSSStyleSheet): HTMLElement {
  const element = real.createElement('span');
  element.hidden = true;
  let text = '';
  Object.defineProperty(element, 'textContent', {
    get: () => text,
    set: (value: string) => {
      text = value;
      sheet.replaceSync(value);
    },
  });
  return element;
}

function withStyleAttribute(element: HTMLElement): HTMLElement {
  element.setAttribute = (name: string, value: string) => {
    if (name === 'style') element.style.cssText = value;
    else Element.prototype.setAttribute.call(element, name, value);
  };
  return element;
}
