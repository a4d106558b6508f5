// A label with its explanation as the tooltip; the help dialog lists the same explanations.
import { type Explained, explanations } from '../text/explanations.ts';

export function Term({ of, children }: { readonly of: Explained; readonly children?: string }) {
  const { text, title } = explanations[of];
  return (
    <span class="term" title={text}>
      {children ?? title}
    </span>
  );
}
