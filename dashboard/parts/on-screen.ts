// Knows which elements are on the screen, by one observer for all, so that 500 rows cost what the visible ones cost.
const listeners = new WeakMap<Element, (isVisible: boolean) => void>();
let shared: IntersectionObserver | undefined;

function observer(): IntersectionObserver {
  shared ??= new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries) listeners.get(target)?.(isIntersecting);
    },
    { rootMargin: '120px' },
  );
  return shared;
}

export function onScreen(element: Element, listen: (isVisible: boolean) => void): () => void {
  listeners.set(element, listen);
  observer().observe(element);
  return () => {
    observer().unobserve(element);
    listeners.delete(element);
  };
}
